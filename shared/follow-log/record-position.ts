import type { ClientBase, Pool } from 'pg';
import { AppendOutcomeUnknownError, comparePositions, type Position } from '../event-store/event-store.ts';
import { int8Array, textArray } from '../postgres/binary-array.ts';

/**
 * For event logs outside Postgres. Call it between the append and its answer, so that every answered write is
 * included; other appends are included when they are repeated, or at the account's next write.
 * @param pool must wait for the disk: without the position a read can miss an answered write
 * @throws AppendOutcomeUnknownError
 */
export const createRecordPosition =
  (pool: Pick<Pool, 'query'>, tableOf: (stream: string) => string) =>
  async (customerId: number, position: Position, stream: string): Promise<void> => {
    const table = tableOf(stream);
    try {
      await pool.query({
        name: `mark-${table}`,
        text: `insert into ${table} as known (customer_id, position) values ($1, $2)
               on conflict (customer_id) do update set position = excluded.position
               where known.position < excluded.position`,
        values: [customerId, position],
      });
    } catch (cause) {
      throw new AppendOutcomeUnknownError("the account's position could not be written", { cause });
    }
  };

export interface WrittenPosition {
  readonly customerId: number;
  readonly position: Position;
}

/**
 * For consumers that tell others of events: a read that follows must wait for the event, although the writer may not
 * have recorded its position yet, or have died before. Writes nothing where the append has recorded it. Call it in the
 * transaction that shows the event.
 */
export const recordPositions = async (
  client: Pick<ClientBase, 'query'>,
  written: readonly WrittenPosition[],
): Promise<void> => {
  const last = new Map<number, Position>();
  for (const { customerId, position } of written) {
    const known = last.get(customerId);
    if (known === undefined || comparePositions(known, position) < 0) last.set(customerId, position);
  }
  if (last.size === 0) return;
  await client.query({
    name: 'record-positions',
    // In order, so that two writers never wait for each other.
    text: `insert into account_positions as known (customer_id, position)
           select customer_id, position from unnest($1::bigint[], $2::text[]) as n(customer_id, position)
           where not exists (select from account_positions p
                             where p.customer_id = n.customer_id and p.position >= n.position collate "C")
           order by customer_id
           on conflict (customer_id) do update set position = excluded.position
           where known.position < excluded.position`,
    values: [int8Array([...last.keys()]), textArray([...last.values()])],
  });
};
