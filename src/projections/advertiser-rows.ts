import type { ClientBase } from 'pg';
import { advertiserEvents, type AdvertiserEvent } from '../domain/advertisers/advertiser-events.ts';
import type { AdvertiserResource } from '../domain/advertisers/advertiser-resource.ts';
import { evolve, initialState, type Advertiser } from '../domain/advertisers/advertiser.ts';
import { boolArray, int4Array, int8Array, textArray } from '../shared/postgres/binary-array.ts';
import { copyIn, CopyRows } from '../shared/postgres/copy-in.ts';
import { decodeEvent } from './engine/decode-event.ts';
import { countInBlocks } from './engine/blocks/count-in-blocks.ts';
import type { ListBlocks } from './engine/blocks/list-blocks.ts';
import type { Folded } from './engine/fold-streams.ts';
import type { ProjectedEvent } from './engine/projection.ts';

/** Each filter of the list is a kind of its own: status, sandbox, both. */
export const advertiserBlocks: ListBlocks = {
  table: 'advertiser_blocks',
  rows: 'advertisers',
  lists: 'account',
  at: 'created_at',
  idType: 'integer',
  kinds: `array[r.status, '/' || r.sandbox::text, r.status || '/' || r.sandbox::text]`,
};

/** What of an advertiser it is counted by. */
export type CountedRow = Pick<AdvertiserResource, 'customerId' | 'id' | 'status' | 'sandbox' | 'createdAt'>;

/** Rows of the tables `advertisers`, `advertiser_counts` and `advertiser_blocks`. */
export type Row = Folded<AdvertiserResource>;

export const nothing: Folded<Advertiser> = { state: initialState, revision: -1 };

/** @throws UnprojectableEventError */
export const evolveRecorded = (current: Advertiser, event: ProjectedEvent): Advertiser =>
  evolve(current, decodeEvent(event, advertiserEvents) as AdvertiserEvent);

/** Writes what has changed of rows that are there, and counts. */
export const updateChanged = async (
  client: ClientBase,
  changed: readonly { readonly before: AdvertiserResource | undefined; readonly after: Row }[],
  counted: typeof count,
): Promise<void> => {
  const [customerIds, ids, revisions, statuses, , names, , bodies] = columns(
    changed.map(({ after }) => after),
  );
  await client.query({
    name: 'advertisers-update',
    text: `update advertisers a set revision = n.revision, status = n.status, name = n.name, body = n.body
           from unnest($1::bigint[], $2::int[], $3::bigint[], $4::text[], $5::text[], $6::text[])
             as n(customer_id, id, revision, status, name, body)
           where a.customer_id = n.customer_id and a.id = n.id`,
    values: [customerIds, ids, revisions, statuses, names, bodies],
  });
  const moved = changed.flatMap(({ before: old, after: { state } }) => {
    return old === undefined || old.status === state.status
      ? []
      : ([
          [old, -1],
          [state, 1],
        ] as const);
  });
  await counted(client, moved);
};

export const loadRows = async (client: ClientBase, streams: readonly string[]): Promise<Map<string, Row>> => {
  const keys = streams.map((stream) => stream.split('-'));
  const { rows } = await client.query<{ stream: string; revision: string; body: string }>({
    name: 'advertisers-load',
    text: `select s.stream, a.revision, a.body
           from unnest($1::text[], $2::bigint[], $3::int[]) as s(stream, customer_id, id)
           join advertisers a on a.customer_id = s.customer_id and a.id = s.id`,
    values: [streams, keys.map((key) => key[1]), keys.map((key) => key[2])],
  });
  return new Map(
    rows.map(({ stream, revision, body }) => [
      stream,
      { state: JSON.parse(body) as AdvertiserResource, revision: Number(revision) },
    ]),
  );
};

export const columns = (rows: readonly Row[]): Buffer[] => [
  int8Array(rows.map(({ state }) => state.customerId)),
  int4Array(rows.map(({ state }) => state.id)),
  int8Array(rows.map(({ revision }) => revision)),
  textArray(rows.map(({ state }) => state.status)),
  boolArray(rows.map(({ state }) => state.sandbox)),
  textArray(rows.map(({ state }) => state.name)),
  textArray(rows.map(({ state }) => state.createdAt)),
  textArray(rows.map(({ state }) => JSON.stringify(state))),
];

/**
 * Writes rows that are not there yet, while they are still being made.
 * @param isEmptied the table was emptied in this transaction: rows are written as if they had always been there
 * @throws what `rows` throws; `unique_violation` when one is there: none is written then
 */
export const copyRows = (client: ClientBase, rows: Iterable<Row>, isEmptied = false): Promise<void> =>
  copyIn(
    client,
    `copy advertisers (customer_id, id, revision, status, sandbox, name, created_at, body)
     from stdin (format binary${isEmptied ? ', freeze' : ''})`,
    copied(rows),
  );

function* copied(rows: Iterable<Row>): Generator<Buffer> {
  const written = new CopyRows();
  for (const { state, revision } of rows) {
    written.row(8);
    written.int8(state.customerId);
    written.int4(state.id);
    written.int8(revision);
    written.text(state.status);
    written.boolean(state.sandbox);
    written.text(state.name);
    written.timestamp(state.createdAt);
    written.text(JSON.stringify(state));
    yield* written.take();
  }
  yield* written.end();
}

/** Counts what has come and gone, in all and where it is in the list. */
export const count = async (
  client: ClientBase,
  changes: readonly (readonly [CountedRow, 1 | -1])[],
): Promise<void> => {
  await addCounts(client, changes);
  await countInBlocks(
    client,
    advertiserBlocks,
    changes.map(([{ customerId, id, status, sandbox, createdAt }, change]) => ({
      customerId,
      advertiserId: 0,
      at: createdAt,
      id,
      kinds: kindsOf(status, sandbox),
      change,
    })),
  );
};

const kindsOf = (status: AdvertiserResource['status'], sandbox: boolean): readonly string[] =>
  KINDS[status][sandbox ? 'true' : 'false'];

const KINDS = {
  ACTIVE: { true: ['ACTIVE', '/true', 'ACTIVE/true'], false: ['ACTIVE', '/false', 'ACTIVE/false'] },
  ARCHIVED: { true: ['ARCHIVED', '/true', 'ARCHIVED/true'], false: ['ARCHIVED', '/false', 'ARCHIVED/false'] },
} as const;

/** Adds to the kept counts; in a fixed order, so that two writers can never wait for each other. */
export const addCounts = async (
  client: ClientBase,
  changes: readonly (readonly [CountedRow, number])[],
): Promise<void> => {
  const sums: CountSums = new Map();
  for (const [row, change] of changes) addCount(sums, row, change);
  await writeCounts(client, sums);
};

/** Changes of counts, by account, status and sandbox. */
export type CountSums = Map<string, { readonly row: CountedRow; sum: number }>;

export const addCount = (sums: CountSums, row: CountedRow, change: number): void => {
  const key = `${row.customerId}/${row.status}/${row.sandbox}`;
  const known = sums.get(key);
  if (known === undefined) sums.set(key, { row, sum: change });
  else known.sum += change;
};

/** Adds to the kept counts; in a fixed order, so that two writers can never wait for each other. */
export const writeCounts = async (client: ClientBase, sums: CountSums): Promise<void> => {
  const deltas = [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, delta]) => delta);
  if (deltas.length === 0) return;
  await client.query({
    name: 'advertiser-counts-add',
    text: `insert into advertiser_counts as c (customer_id, status, sandbox, count)
           select * from unnest($1::bigint[], $2::text[], $3::boolean[], $4::bigint[])
           on conflict (customer_id, status, sandbox) do update set count = c.count + excluded.count`,
    values: [
      deltas.map(({ row }) => row.customerId),
      deltas.map(({ row }) => row.status),
      deltas.map(({ row }) => row.sandbox),
      deltas.map(({ sum }) => sum),
    ],
  });
};
