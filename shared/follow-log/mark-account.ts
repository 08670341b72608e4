import type { Pool } from 'pg';
import { AppendOutcomeUnknownError, type Position } from '../event-store/event-store.ts';

/**
 * Writes where an account's events end, for event logs that are not in Postgres: there the append itself does
 * it, in its transaction. To be called after the append and before its answer, so that whatever was answered is
 * marked; what was appended and not answered gets its mark when it is repeated, or from the account's next
 * write. Marks never go back, however late one is written.
 * @param isMarkedApart streams whose events have a mark of their own, as for the store in Postgres
 * @param pool whose commits wait for the disk: a mark that is lost is a read that misses an answered write
 */
export const createMarkAccount =
  (pool: Pick<Pool, 'query'>, isMarkedApart: (stream: string) => boolean) =>
  async (customerId: number, position: Position, stream: string): Promise<void> => {
    const table = isMarkedApart(stream) ? 'conversion_positions' : 'account_positions';
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
