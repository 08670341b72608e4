import type { Pool, PoolClient } from 'pg';
import { START, type Position } from '../../shared/event-store/event-store.ts';
import { inTransaction } from '../../shared/postgres/pool.ts';
import { dropCopy } from './copy/copy-state.ts';
import type { Projection } from './projection.ts';

/**
 * Until they reach `head` again, all reads wait and no credential is accepted
 * (`query/accounts/verify-api-key.ts`). Last written positions become `head`. Only while no process of the
 * service runs: a position after `head` would go back. A consumer keeps its rows (`Projection.restart`).
 */
export const resetReadModels = (
  pool: Pool,
  projections: readonly Projection[],
  head: Position,
): Promise<void> =>
  inTransaction(pool, async (client) => {
    for (const projection of projections) await resetOne(client, projection, head);
    await client.query('truncate snapshots');
    for (const table of ['account_positions', 'conversion_positions']) {
      await client.query(
        `insert into ${table} (customer_id, position)
         select customer_id, $1 from api_keys union select customer_id, $1 from ${table}
         on conflict (customer_id) do update set position = excluded.position`,
        [head],
      );
    }
  });

const resetOne = async (client: PoolClient, projection: Projection, head: Position): Promise<void> => {
  const { name, tables, work = [] } = projection;
  // First the checkpoint: a runner in the middle of a batch ends before the rows are deleted.
  await client.query(
    `insert into projection_checkpoints (name, position, epoch, whole_at) values ($1, $2, 1, $3)
     on conflict (name) do update set position = excluded.position, epoch = projection_checkpoints.epoch + 1,
       whole_at = excluded.whole_at`,
    [name, START, head],
  );
  await dropCopy(client, name);
  await client.query('delete from parked_streams where projection = $1', [name]);
  for (const table of tables) await client.query(`truncate ${client.escapeIdentifier(table)}`);
  if (work.length > 0) await client.query('delete from work_list where kind = any($1)', [work]);
  await projection.forget?.(client);
};
