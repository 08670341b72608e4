import type { RewriteStatement } from '../../shared/postgres/tenant-database.ts';
import type { TenantStatement } from '../../shared/postgres/tenant-query.ts';

/** The mistake of leaving the account out, in every statement at once. The parameter stays, for its type's sake. */
export interface Stripping {
  readonly rewrite: RewriteStatement;
  /** Names of statements that lost a predicate, and of those that had none to lose. */
  readonly stripped: ReadonlySet<string>;
  readonly untouched: ReadonlySet<string>;
}

/** `account_positions` holds how far each account has written, and no row of anybody's. */
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
