import type { ClientBase } from 'pg';
import { CAMPAIGN } from '../domain/campaigns/campaign.ts';
import { CREATIVE } from '../domain/creatives/creative.ts';
import { isSubmissionOccasion } from '../domain/creatives/submission-occasion.ts';
import { SELLERS } from '../domain/sellers/seller-directory.ts';
import { sellerEvents, type SellerEvent } from '../domain/sellers/seller-events.ts';
import { categoryOf, type RecordedEvent } from '../shared/event-store/event-store.ts';
import { int4Array, int8Array, textArray, uuidArray } from '../shared/postgres/binary-array.ts';
import { decodeEvent } from './engine/decode-event.ts';
import type { Projection } from './engine/projection.ts';

/**
 * The directory of sellers, and the list of what may have to be submitted to them because its campaign runs. The list
 * says where to look, never what is so: the worker asks the streams.
 */
export const sellersProjection: Projection = {
  name: 'sellers',
  categories: [SELLERS, CAMPAIGN, CREATIVE],
  tables: ['sellers', 'submission_work'],
  workLists: ['submission_work'],
  apply: async (client, events) => {
    await writeSellers(
      client,
      events.filter(({ stream }) => categoryOf(stream) === SELLERS),
    );
    await listWork(client, events);
  },
};

const writeSellers = async (client: ClientBase, events: readonly RecordedEvent[]): Promise<void> => {
  // The last word on each: every event says all that is known of its seller.
  const said = new Map(
    events.map((event) => {
      const { data } = decodeEvent(event, sellerEvents) as SellerEvent;
      return [data.sellerId, { data, revision: event.revision }];
    }),
  );
  if (said.size === 0) return;
  const rows = [...said.values()];
  await client.query({
    name: 'sellers-write',
    text: `insert into sellers as s (seller_id, revision, body)
           select * from unnest($1::int[], $2::bigint[], $3::text[])
           on conflict (seller_id) do update set revision = excluded.revision, body = excluded.body
             where s.revision < excluded.revision`,
    values: [
      int4Array(rows.map(({ data }) => data.sellerId)),
      int8Array(rows.map(({ revision }) => revision)),
      textArray(rows.map(({ data }) => JSON.stringify(data))),
    ],
  });
};

const STREAM = /^(campaign|creative)-(\d+)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

interface Listed {
  readonly kind: string;
  readonly customerId: number;
  readonly id: string;
  /** Of the last event that puts it on the list. */
  readonly position: string;
  /** Of the first one. */
  readonly since: string;
}

const listWork = async (client: ClientBase, events: readonly RecordedEvent[]): Promise<void> => {
  const places = new Map<string, Listed>();
  for (const { stream, position } of events.filter(isSubmissionOccasion)) {
    const [, kind, customerId, id] = STREAM.exec(stream) ?? [];
    if (kind === undefined || id === undefined) continue;
    const { since } = places.get(stream) ?? { since: position };
    places.set(stream, { kind, customerId: Number(customerId), id, position, since });
  }
  if (places.size === 0) return;
  // In a fixed order, so that two writers can never wait for each other.
  const rows = [...places].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, place]) => place);
  await client.query({
    name: 'submission-work-add',
    text: `insert into submission_work as w (customer_id, kind, id, position, since)
           select * from unnest($1::bigint[], $2::text[], $3::uuid[], $4::text[], $5::text[])
           on conflict (customer_id, kind, id) do update
             set position = excluded.position, since = coalesce(w.since, w.position), due_at = now()
             where w.position < excluded.position`,
    values: [
      int8Array(rows.map(({ customerId }) => customerId)),
      textArray(rows.map(({ kind }) => kind)),
      uuidArray(rows.map(({ id }) => id)),
      textArray(rows.map(({ position }) => position)),
      textArray(rows.map(({ since }) => since)),
    ],
  });
};
