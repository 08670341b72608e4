import type { OperatorCommand, Tools } from './command.ts';

interface Entry {
  readonly kind: string;
  readonly customerId: number;
  readonly key: string;
  /** Null: on the next request. */
  readonly dueAt: string | null;
  /** Claimed by a worker until then, and longer while its job lives. */
  readonly leasedUntil: string | null;
  readonly attempts: number;
  readonly lost: number;
  readonly lastError: string | null;
  readonly failedAt: string | null;
}

/** Bounds the output, because a backlog may be long. */
const SHOWN_MAX = 1_000;

export const addWorkCommand = (program: OperatorCommand, { installation, print }: Tools): void => {
  program
    .command('work')
    .description('What workers are to do.')
    .command('list')
    .description(
      `Lists what is due first, ${SHOWN_MAX} entries at most: when, how often it was tried, why it failed last.`,
    )
    .argument('[KIND]', 'for example syndication, submission, catalog-feed, agent-check')
    .action(async (kind: string | undefined) => {
      const { pool } = await installation();
      const { rows } = await pool.query<Entry>(
        `select kind, customer_id::float8 as "customerId", key, case when isfinite(due_at) then due_at end as "dueAt",
           leased_until as "leasedUntil", attempts, lost, last_error as "lastError", failed_at as "failedAt"
         from work_list where $1::text is null or kind = $1 order by work_list.due_at, kind, key limit $2`,
        [kind, SHOWN_MAX],
      );
      for (const entry of rows) print(entry, textOf(entry));
    });
};

const textOf = (entry: Entry): string => {
  const { kind, customerId, key, dueAt, leasedUntil, attempts, lost, lastError } = entry;
  const state = leasedUntil === null ? `due ${shown(dueAt) ?? 'when it is asked for'}` : 'a worker has it';
  const why = lastError === null ? '' : `: ${lastError}`;
  return `${kind} ${key} of account ${customerId}: ${state}; failed tries ${attempts}, lost jobs ${lost}${why}`;
};

const shown = (at: string | null): string | undefined =>
  at === null ? undefined : new Date(at).toISOString();
