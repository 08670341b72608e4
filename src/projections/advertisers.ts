import type { ClientBase } from 'pg';
import type { AdvertiserResource } from '../domain/advertisers/advertiser-resource.ts';
import { advertiserStream, type Advertiser } from '../domain/advertisers/advertiser.ts';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import {
  advertiserBlocks,
  columns,
  count,
  evolveRecorded,
  loadRows,
  nothing,
  updateChanged,
  type Row,
} from './advertiser-rows.ts';
import { advertisersBulk } from './advertisers-bulk.ts';
import { byStream, foldStream } from './engine/fold-streams.ts';
import { keptCounts, UnprojectableEventError, type Projection } from './engine/projection.ts';

/**
 * The read model behind endpoint 4 and the advertiser's detail: tables `advertisers`, `advertiser_counts`,
 * `advertiser_blocks`.
 */
export const advertisersProjection: Projection = {
  name: 'advertisers',
  categories: ['advertiser'],
  tables: ['advertisers', 'advertiser_counts', advertiserBlocks.table],
  compared: { advertiser_counts: keptCounts },
  blocks: [advertiserBlocks],
  bulk: advertisersBulk,
  apply: async (client, events) => {
    const streams = byStream(events);
    const created = foldAll(streams, ([first]) => first?.revision === 0, new Map());
    const inserted = await insertRows(client, created);
    // What was not inserted is there already: an update, or an event that is delivered again.
    const rest = new Map([...streams].filter(([stream]) => !inserted.has(stream)));
    if (rest.size > 0) await updateRows(client, rest);
  },
};

const foldAll = (
  streams: ReadonlyMap<string, readonly RecordedEvent[]>,
  wanted: (events: readonly RecordedEvent[]) => boolean,
  before: ReadonlyMap<string, Row>,
): Map<string, Row> => {
  const rows = new Map<string, Row>();
  for (const [stream, events] of streams) {
    if (!wanted(events)) continue;
    const { state, revision } = foldStream<Advertiser>(before.get(stream) ?? nothing, events, evolveRecorded);
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
  await updateChanged(
    client,
    changed.map(([stream, row]) => ({ before: before.get(stream)?.state, after: row })),
    count,
  );
};
