import type { ClientBase } from 'pg';

/** Members that went, by audience. */
export type TakenOut = ReadonlyMap<string, number>;

interface Gone {
  readonly audienceId: string;
  readonly count: number;
}

/** Takes members out of an account's rows. @param ids the buyer's own of them */
export const takeOutPersons = async (
  client: ClientBase,
  customerId: number,
  ids: readonly string[],
): Promise<TakenOut> => {
  const from = async (table: string): Promise<readonly Gone[]> => {
    const { rows } = await client.query<Gone>(
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
  const taken = await from('audience_members');
  const removed = await from('audience_removals');
  await takeOutOfBatches(client, customerId, new Set(ids));
  await writeAnew(client, customerId, ids);
  await countAnew(client, customerId, taken);
  // Who was removed already has to go from where agents have him, too.
  return new Map([...removed.map(({ audienceId }) => [audienceId, 0] as const), ...entries(taken)]);
};

const entries = (taken: readonly Gone[]): readonly (readonly [string, number])[] =>
  taken.map(({ audienceId, count }) => [audienceId, count]);

/** Takes every member out of an account's rows. */
export const takeOutAll = async (client: ClientBase, customerId: number): Promise<TakenOut> => {
  const { rows } = await client.query<Gone>(
    `with gone as (delete from audience_members where customer_id = $1 returning audience_id)
     select audience_id as "audienceId", count(*)::int as count from gone group by audience_id`,
    [customerId],
  );
  await client.query('delete from audience_removals where customer_id = $1', [customerId]);
  const { rows: batches } = await client.query<Batch>(BATCHES, [customerId]);
  for (const batch of batches) await writeBatch(client, customerId, { ...batch, add: [], remove: [] });
  await writeAnew(client, customerId);
  await countAnew(client, customerId, rows);
  return new Map(entries(rows));
};

interface Batch {
  readonly batchId: string;
  readonly part: number;
  readonly body: string;
}

/** Stored, and not referred to yet. */
const BATCHES = `select batch_id as "batchId", part, body from audience_batches where customer_id = $1`;

interface Body {
  readonly add: readonly (readonly [string, ...unknown[]])[];
  readonly remove: readonly string[];
}

const takeOutOfBatches = async (
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

/**
 * What is on its way to agents is written down anew before the next try; and a delivery that has come to one of the ids
 * goes on at the beginning of that id's revision, so that it does not keep the id. Whoever has read a page already, or
 * opens a delivery now, waits until the members are gone and reads again: by the time the row was touched at.
 * @param ids default: any
 */
const writeAnew = async (client: ClientBase, customerId: number, ids?: readonly string[]): Promise<void> => {
  await client.query('lock table syndication_deliveries in share row exclusive mode');
  await client.query(
    `update syndication_deliveries
     set body = null, next_revision = null, next_id = null, touched_at = clock_timestamp(),
       after_id = case when $2::text[] is null or after_id = any($2) then '' else after_id end
     where customer_id = $1`,
    [customerId, ids],
  );
};

const countAnew = async (client: ClientBase, customerId: number, taken: readonly Gone[]): Promise<void> => {
  for (const { audienceId, count } of taken) {
    await client.query('update audiences set members = members - $3 where customer_id = $1 and id = $2', [
      customerId,
      audienceId,
      count,
    ]);
  }
};
