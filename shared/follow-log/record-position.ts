import type { Pool } from 'pg';
import { AppendOutcomeUnknownError, type Position } from '../event-store/event-store.ts';

/**
 * Writes the account's last position, for event logs outside Postgres (in Postgres the append does it). Call it after
 * the append and before its answer, so that every answered write is included. An append without an answer is included
 * when it is repeated, or at the account's next write. The position never decreases.
 * @param tableOf a stream: the table of its last written positions
 * @param pool must wait for the disk at commit: if a position is lost, a read can miss an answered write
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
