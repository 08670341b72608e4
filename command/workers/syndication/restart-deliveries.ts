import type { ClientBase } from 'pg';

export const deliveriesTable = 'syndication_deliveries';

/**
 * A delivery whose cursor is one of the ids restarts at that id's revision, so that the cursor does not keep
 * the id. The lock makes workers that have a page wait for the deletion; they notice the new `touched_at` and
 * read again.
 * @param ids default: all
 */
export const restartDeliveries = async (
  client: ClientBase,
  customerId: number,
  ids?: readonly string[],
): Promise<void> => {
  await client.query('lock table syndication_deliveries in share row exclusive mode');
  await client.query(
    `update syndication_deliveries
     set body = null, next_revision = null, next_id = null, touched_at = clock_timestamp(),
       after_id = case when $2::text[] is null or after_id = any($2) then '' else after_id end
     where customer_id = $1`,
    [customerId, ids],
  );
};
