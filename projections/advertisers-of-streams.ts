import type { ClientBase, QueryConfig } from 'pg';
import { carriesAdvertiser } from '../domain/history/audited-event.ts';
import { advertiserOfEvent } from '../domain/notifications/notifications-of.ts';
import { categoryOf, type RecordedEvent } from '../shared/event-store/event-store.ts';
import { int4Array, int8Array, textArray } from '../shared/postgres/binary-array.ts';
import { inPieces, sendInOrder } from './engine/send-in-order.ts';

/** Each belongs to one consumer of the log, which is at its own position. */
export type AdvertiserTable = 'notification_streams' | 'webhook_streams';

interface StreamOfAdvertiser {
  readonly customerId: number;
  readonly stream: string;
  readonly advertiserId: number;
}

/**
 * Records the advertisers that the events name: later events of a stream do not repeat them.
 * @returns by stream; no entry for a stream of no advertiser
 */
export const advertisersOfStreams = async (
  client: ClientBase,
  table: AdvertiserTable,
  events: readonly RecordedEvent[],
): Promise<ReadonlyMap<string, number>> => {
  const found = new Map<string, number>();
  const named = new Map<string, StreamOfAdvertiser>();
  for (const event of events) {
    const { stream } = event;
    const advertiserId = found.has(stream) ? undefined : advertiserOfEvent(event);
    if (advertiserId === undefined) continue;
    found.set(stream, advertiserId);
    if (isCarried(stream)) {
      named.set(stream, { customerId: event.metadata.customerId, stream, advertiserId });
    }
  }
  await addKnown(client, table, events, found);
  await sendInOrder(client, inserts(table, [...named.values()]));
  return found;
};

const isCarried = (stream: string): boolean => carriesAdvertiser(categoryOf(stream));

const addKnown = async (
  client: ClientBase,
  table: AdvertiserTable,
  events: readonly RecordedEvent[],
  found: Map<string, number>,
): Promise<void> => {
  const unknown = new Map(
    events.flatMap(({ stream, metadata }) =>
      found.has(stream) || !isCarried(stream) ? [] : [[stream, metadata.customerId]],
    ),
  );
  if (unknown.size === 0) return;
  const { rows } = await client.query<{ stream: string; advertiser_id: number }>({
    name: `${table}-known`,
    text: `select q.stream, s.advertiser_id
           from unnest($1::bigint[], $2::text[]) as q(customer_id, stream)
           join ${table} s on s.customer_id = q.customer_id and s.stream = q.stream`,
    values: [int8Array([...unknown.values()]), textArray([...unknown.keys()])],
  });
  for (const { stream, advertiser_id } of rows) found.set(stream, advertiser_id);
};

function* inserts(table: AdvertiserTable, streams: readonly StreamOfAdvertiser[]): Generator<QueryConfig> {
  for (const piece of inPieces(streams)) {
    yield {
      name: `${table}-insert`,
      text: `insert into ${table} (customer_id, stream, advertiser_id)
             select * from unnest($1::bigint[], $2::text[], $3::int[])
             on conflict do nothing`,
      values: [
        int8Array(piece.map(({ customerId }) => customerId)),
        textArray(piece.map(({ stream }) => stream)),
        int4Array(piece.map(({ advertiserId }) => advertiserId)),
      ],
    };
  }
}
