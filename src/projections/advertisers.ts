import type { ClientBase } from 'pg';
import { advertiserEvents, type AdvertiserEvent } from '../domain/advertisers/advertiser-events.ts';
import type { AdvertiserResource } from '../domain/advertisers/advertiser-resource.ts';
import { advertiserStream, evolve, initialState, type Advertiser } from '../domain/advertisers/advertiser.ts';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import { boolArray, int4Array, int8Array, textArray } from '../shared/postgres/binary-array.ts';
import { decodeEvent } from './engine/decode-event.ts';
import { byStream, foldStream, type Folded } from './engine/fold-streams.ts';
import { keptCounts, UnprojectableEventError, type Projection } from './engine/projection.ts';

/** The read model behind endpoint 4 and the advertiser's detail: tables `advertisers`, `advertiser_counts`. */
export const advertisersProjection: Projection = {
  name: 'advertisers',
  categories: ['advertiser'],
  tables: ['advertisers', 'advertiser_counts'],
  compared: { advertiser_counts: keptCounts },
  apply: async (client, events) => {
    const streams = byStream(events);
    const created = foldAll(streams, ([first]) => first?.revision === 0, new Map());
    const inserted = await insertRows(client, created);
    // What was not inserted is there already: an update, or an event that is delivered again.
    const rest = new Map([...streams].filter(([stream]) => !inserted.has(stream)));
    if (rest.size > 0) await updateRows(client, rest);
  },
};

type Row = Folded<AdvertiserResource>;
const nothing: Folded<Advertiser> = { state: initialState, revision: -1 };

const foldAll = (
  streams: ReadonlyMap<string, readonly RecordedEvent[]>,
  wanted: (events: readonly RecordedEvent[]) => boolean,
  before: ReadonlyMap<string, Row>,
): Map<string, Row> => {
  const rows = new Map<string, Row>();
  for (const [stream, events] of streams) {
    if (!wanted(events)) continue;
    const { state, revision } = foldStream<Advertiser>(
      before.get(stream) ?? nothing,
      events,
      (current, event) => evolve(current, decodeEvent(event, advertiserEvents) as AdvertiserEvent),
    );
    if (state.status === 'NONE') continue;
    // A row goes where its stream's name says, never where an event's data says: no event may reach another
    // account's rows.
    if (advertiserStream(state.customerId, state.id) !== stream) throw misplaced(events, state);
    rows.set(stream, { state, revision });
  }
  return rows;
};

const misplaced = (events: readonly RecordedEvent[], { customerId, id }: AdvertiserResource): Error => {
  const [first] = events;
  const reason = `the stream is not that of advertiser ${id} of account ${customerId}`;
  return first === undefined ? new Error(reason) : new UnprojectableEventError(first, reason);
};

const insertRows = async (client: ClientBase, rows: ReadonlyMap<string, Row>): Promise<Set<string>> => {
  if (rows.size === 0) return new Set();
  const { rows: inserted } = await client.query<{ customer_id: string; id: number }>({
    name: 'advertisers-insert',
    text: `insert into advertisers (customer_id, id, revision, status, sandbox, name, created_at, body)
           select customer_id, id, revision, status, sandbox, name, created_at::timestamptz, body
           from unnest($1::bigint[], $2::int[], $3::bigint[], $4::text[], $5::boolean[], $6::text[], $7::text[],
                       $8::text[]) as n(customer_id, id, revision, status, sandbox, name, created_at, body)
           on conflict do nothing
           returning customer_id, id`,
    values: columns([...rows.values()]),
  });
  const streams = new Set(inserted.map(({ customer_id, id }) => advertiserStream(Number(customer_id), id)));
  await count(
    client,
    [...rows].flatMap(([stream, row]) => (streams.has(stream) ? [[row.state, 1] as const] : [])),
  );
  return streams;
};

const updateRows = async (
  client: ClientBase,
  streams: ReadonlyMap<string, readonly RecordedEvent[]>,
): Promise<void> => {
  const before = await loadRows(client, [...streams.keys()]);
  const after = foldAll(streams, () => true, before);
  const changed = [...after].filter(([stream, { revision }]) => revision !== before.get(stream)?.revision);
  if (changed.length === 0) return;
  const [customerIds, ids, revisions, statuses, , names, , bodies] = columns(changed.map(([, row]) => row));
  await client.query({
    name: 'advertisers-update',
    text: `update advertisers a set revision = n.revision, status = n.status, name = n.name, body = n.body
           from unnest($1::bigint[], $2::int[], $3::bigint[], $4::text[], $5::text[], $6::text[])
             as n(customer_id, id, revision, status, name, body)
           where a.customer_id = n.customer_id and a.id = n.id`,
    values: [customerIds, ids, revisions, statuses, names, bodies],
  });
  const moved = changed.flatMap(([stream, { state }]) => {
    const old = before.get(stream)?.state;
    return old === undefined || old.status === state.status
      ? []
      : ([
          [old, -1],
          [state, 1],
        ] as const);
  });
  await count(client, moved);
};

const loadRows = async (client: ClientBase, streams: readonly string[]): Promise<Map<string, Row>> => {
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

const columns = (rows: readonly Row[]): Buffer[] => [
  int8Array(rows.map(({ state }) => state.customerId)),
  int4Array(rows.map(({ state }) => state.id)),
  int8Array(rows.map(({ revision }) => revision)),
  textArray(rows.map(({ state }) => state.status)),
  boolArray(rows.map(({ state }) => state.sandbox)),
  textArray(rows.map(({ state }) => state.name)),
  textArray(rows.map(({ state }) => state.createdAt)),
  textArray(rows.map(({ state }) => JSON.stringify(state))),
];

/** Adds to the kept counts; in a fixed order, so that two writers can never wait for each other. */
const count = async (
  client: ClientBase,
  changes: readonly (readonly [AdvertiserResource, number])[],
): Promise<void> => {
  const sums = new Map<string, { row: AdvertiserResource; sum: number }>();
  for (const [row, change] of changes) {
    const key = `${row.customerId}/${row.status}/${row.sandbox}`;
    sums.set(key, { row, sum: (sums.get(key)?.sum ?? 0) + change });
  }
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
