import { DatabaseError, type ClientBase } from 'pg';
import type { AdvertiserResource } from '../domain/advertisers/advertiser-resource.ts';
import { advertiserStream, type Advertiser } from '../domain/advertisers/advertiser.ts';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import {
  advertiserBlocks,
  columns,
  copyRows,
  count,
  evolveRecorded,
  loadRows,
  nothing,
  updateChanged,
  type CountedRow,
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
  lazy: true,
  apply: async (client, events) => {
    const streams = byStream(events);
    const begun = new Map([...streams].filter(([, [first]]) => first?.revision === 0));
    const inserted = await insertRows(client, begun);
    // What was not inserted is there already: an update, or an event that is delivered again.
    if (inserted.size === streams.size) return;
    await updateRows(client, new Map([...streams].filter(([stream]) => !inserted.has(stream))));
  },
};

type Streams = ReadonlyMap<string, readonly RecordedEvent[]>;

/** Of each stream the row that its events make, one by one. @throws UnprojectableEventError */
function* folded(streams: Streams, before: ReadonlyMap<string, Row>): Generator<readonly [string, Row]> {
  for (const [stream, events] of streams) {
    const { state, revision } = foldStream<Advertiser>(before.get(stream) ?? nothing, events, evolveRecorded);
    if (state.status === 'NONE') continue;
    // A row goes where its stream's name says, never where an event's data says: no event may reach another
    // account's rows.
    if (advertiserStream(state.customerId, state.id) !== stream) throw misplaced(events, state);
    yield [stream, { state, revision }];
  }
}

const misplaced = (events: readonly RecordedEvent[], { customerId, id }: AdvertiserResource): Error => {
  const [first] = events;
  const reason = `the stream is not that of advertiser ${id} of account ${customerId}`;
  return first === undefined ? new Error(reason) : new UnprojectableEventError(first, reason);
};

/** So many new rows at once are written by COPY, which takes less time for each and begins while they are being made. */
const COPIED_MIN = 100;

/** @returns those that were not there */
const insertRows = async (client: ClientBase, begun: Streams): Promise<Inserted> => {
  if (begun.size === 0) return new Map();
  const inserted =
    (begun.size >= COPIED_MIN ? await insertByCopy(client, begun) : undefined) ??
    (await insertUnknown(client, begun));
  await count(
    client,
    [...inserted.values()].map((row) => [row, 1] as const),
  );
  return inserted;
};

/** By their streams. Whole rows are not kept: the garbage collector would have to move them about. */
type Inserted = ReadonlyMap<string, CountedRow>;

const countedOf = ({ customerId, id, status, sandbox, createdAt }: AdvertiserResource): CountedRow => ({
  customerId,
  id,
  status,
  sandbox,
  createdAt,
});

/** A row that is there already (`unique_violation`); policies that hold for who writes, too (`feature_not_supported`). */
const NOT_BY_COPY: readonly (string | undefined)[] = ['23505', '0A000'];

/** @returns undefined when it cannot be done like that: nothing was, then */
const insertByCopy = async (client: ClientBase, begun: Streams): Promise<Inserted | undefined> => {
  const inserted = new Map<string, CountedRow>();
  const made = function* (): Generator<Row> {
    for (const [stream, row] of folded(begun, new Map())) {
      inserted.set(stream, countedOf(row.state));
      yield row;
    }
  };
  await client.query('savepoint copied');
  try {
    await copyRows(client, made());
  } catch (error) {
    if (!(error instanceof DatabaseError) || !NOT_BY_COPY.includes(error.code)) throw error;
    await client.query('rollback to savepoint copied');
    return undefined;
  }
  return inserted;
};

const insertUnknown = async (client: ClientBase, begun: Streams): Promise<Inserted> => {
  const rows = new Map(folded(begun, new Map()));
  if (rows.size === 0) return new Map();
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
  return new Map(
    inserted.flatMap(({ customer_id, id }) => {
      const stream = advertiserStream(Number(customer_id), id);
      const row = rows.get(stream);
      return row === undefined ? [] : [[stream, row.state] as const];
    }),
  );
};

const updateRows = async (client: ClientBase, streams: Streams): Promise<void> => {
  const before = await loadRows(client, [...streams.keys()]);
  const after = new Map(folded(streams, before));
  const changed = [...after].filter(([stream, { revision }]) => revision !== before.get(stream)?.revision);
  if (changed.length === 0) return;
  await updateChanged(
    client,
    changed.map(([stream, row]) => ({ before: before.get(stream)?.state, after: row })),
    count,
  );
};
