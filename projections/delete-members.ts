import type { ClientBase } from 'pg';

/** Tables that contain persons. */
export const memberTables = ['audience_members', 'audience_removals', 'audience_batches'] as const;

export type DeletedMembers = ReadonlyMap<string, number>;

interface DeletedCount {
  readonly audienceId: string;
  readonly count: number;
}

/** The caller holds the checkpoint (`raiseEpoch`). @param ids the buyer's own ids */
export const deleteMembers = async (
  client: ClientBase,
  customerId: number,
  ids: readonly string[],
): Promise<DeletedMembers> => {
  const from = async (table: string): Promise<readonly DeletedCount[]> => {
    const { rows } = await client.query<DeletedCount>(
      `with gone as (
         delete from ${table} m using audiences a
         where a.customer_id = $1 and m.customer_id = $1 and m.audience_id = a.id
           and m.external_id = any($2::text[])
         returning m.audience_id
       )
       select audience_id as "audienceId", count(*)::int as count from gone group by audience_id`,
      [customerId, ids],
    );
    return rows;
  };
  const deleted = await from('audience_members');
  const removed = await from('audience_removals');
  await deleteFromBatches(client, customerId, new Set(ids));
  await updateCounts(client, customerId, deleted);
  // Members removed from an audience earlier count too: agents may still store them.
  return new Map([...removed.map(({ audienceId }) => [audienceId, 0] as const), ...entries(deleted)]);
};

const entries = (deleted: readonly DeletedCount[]): readonly (readonly [string, number])[] =>
  deleted.map(({ audienceId, count }) => [audienceId, count]);

export const deleteAllMembers = async (client: ClientBase, customerId: number): Promise<DeletedMembers> => {
  const { rows } = await client.query<DeletedCount>(
    `with gone as (delete from audience_members where customer_id = $1 returning audience_id)
     select audience_id as "audienceId", count(*)::int as count from gone group by audience_id`,
    [customerId],
  );
  await client.query('delete from audience_removals where customer_id = $1', [customerId]);
  const { rows: batches } = await client.query<Batch>(BATCHES, [customerId]);
  for (const batch of batches) await writeBatch(client, customerId, { ...batch, add: [], remove: [] });
  await updateCounts(client, customerId, rows);
  return new Map(entries(rows));
};

interface Batch {
  readonly batchId: string;
  readonly part: number;
  readonly body: string;
}

const BATCHES = `select batch_id as "batchId", part, body from audience_batches where customer_id = $1`;

interface Body {
  readonly add: readonly (readonly [string, ...unknown[]])[];
  readonly remove: readonly string[];
}

const deleteFromBatches = async (
  client: ClientBase,
  customerId: number,
  ids: ReadonlySet<string>,
): Promise<void> => {
  const { rows } = await client.query<Batch>(BATCHES, [customerId]);
  for (const batch of rows) {
    const { add, remove } = JSON.parse(batch.body) as Body;
    const left = { add: add.filter(([id]) => !ids.has(id)), remove: remove.filter((id) => !ids.has(id)) };
    if (left.add.length === add.length && left.remove.length === remove.length) continue;
    await writeBatch(client, customerId, { ...batch, ...left });
  }
};

const writeBatch = async (
  client: ClientBase,
  customerId: number,
  { batchId, part, add, remove }: Batch & Body,
): Promise<void> => {
  await client.query(
    'update audience_batches set body = $4 where customer_id = $1 and batch_id = $2 and part = $3',
    [customerId, batchId, part, JSON.stringify({ part, add, remove })],
  );
};

const updateCounts = async (
  client: ClientBase,
  customerId: number,
  deleted: readonly DeletedCount[],
): Promise<void> => {
  for (const { audienceId, count } of deleted) {
    await client.query('update audiences set members = members - $3 where customer_id = $1 and id = $2', [
      customerId,
      audienceId,
      count,
    ]);
  }
};
