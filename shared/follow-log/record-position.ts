import type { Pool } from 'pg';
import { AppendOutcomeUnknownError, type Position } from '../event-store/event-store.ts';

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
