import type { RewriteStatement } from '../../shared/postgres/tenant-database.ts';
import type { TenantStatement } from '../../shared/postgres/tenant-query.ts';

/**
 * Removes the account from the conditions of all statements, to imitate that mistake. The parameter stays, because its
 * type must stay known.
 */
export interface Stripping {
  readonly rewrite: RewriteStatement;
  /** Names of statements that lost a predicate, and of those without one. */
  readonly stripped: ReadonlySet<string>;
  readonly untouched: ReadonlySet<string>;
}

/** `account_positions` contains only each account's last written position, no account's data. */
const PREDICATE = /(?<!account_positions where )\b(?:\w+\.)?customer_id = \$1/g;

export const stripTenants = (): Stripping => {
  const stripped = new Set<string>();
  const untouched = new Set<string>();
  return {
    stripped,
    untouched,
    rewrite: ({ name, text }: TenantStatement) => {
      const without = text.replaceAll(PREDICATE, '$$1::bigint is not null');
      (without === text ? untouched : stripped).add(name);
      return { name, text: without };
    },
  };
};
