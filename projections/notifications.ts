import type { ClientBase, QueryConfig } from 'pg';
import { notifiedOnlyWith } from '../domain/all-notifications.ts';
import { LATE_IDX } from '../domain/notifications/feed-order.ts';
import { KEPT_DAYS } from '../domain/notifications/kept-days.ts';
import { notifiedCategories, notifiedTypes } from '../domain/notifications/notifications-of.ts';
import { recordPositions } from '../shared/follow-log/record-position.ts';
import { int4Array, int8Array, textArray, uuidArray } from '../shared/postgres/binary-array.ts';
import { advertisersOfStreams } from './advertisers-of-streams.ts';
import { positionOf } from './engine/checkpoint.ts';
import type { Projection, Purpose } from './engine/projection.ts';
import { inPieces, sendInOrder } from './engine/send-in-order.ts';
import { notificationsIn, type EventNotification } from './notified-events.ts';

/** One day longer than cursors are valid, because clocks differ. */
export const NOTIFICATION_ROWS_DAYS = KEPT_DAYS + 1;

const NAME = 'notifications';

export const notificationsProjection: Projection = {
  name: NAME,
  categories: notifiedCategories,
  having: notifiedOnlyWith,
  rowEvents: { categories: notifiedCategories, types: notifiedTypes },
  tables: ['notifications', 'notification_streams'],
  compared: {
    // The purge deletes older rows (`expired-rows.ts`); one day of margin.
    notifications: { where: `occurred_at > now() - interval '${KEPT_DAYS} days'` },
  },
  apply: async (client, events, purpose) => {
    const rows = events.flatMap(notificationsIn);
    // A copy has only rows that are shown already.
    if (purpose !== 'rows') await recordPositions(client, rows.map(placeOf));
    const advertisers = await advertisersOfStreams(client, 'notification_streams', events);
    const named = rows.map((row) => ({ ...row, advertiserId: advertisers.get(row.event.stream) }));
    const placed = purpose === 'late' ? await placedLast(client, named) : named.map(placedByEvent);
    await sendInOrder(client, inserts(placed, purpose));
  },
};

interface PlacedNotification extends EventNotification {
  readonly position: string;
}

const placedByEvent = (row: EventNotification): PlacedNotification => ({
  ...row,
  position: row.event.position,
});

/** The caller holds the checkpoint, so no reader has a cursor after it, except after others that came late. */
const placedLast = async (
  client: ClientBase,
  rows: readonly EventNotification[],
): Promise<readonly PlacedNotification[]> => {
  const position = await positionOf(client, NAME);
  const { rows: found } = await client.query<{ customer_id: string; next: number }>({
    name: 'notifications-late',
    text: `select a.customer_id, greatest($3, 1 + (
             select max(n.idx) from notifications n where n.customer_id = a.customer_id and n.position = $2))::int as next
           from unnest($1::bigint[]) as a(customer_id)`,
    values: [int8Array([...new Set(rows.map(({ event }) => event.metadata.customerId))]), position, LATE_IDX],
  });
  const next = new Map(found.map((row): [number, number] => [Number(row.customer_id), row.next]));
  return rows.map((row) => {
    const { customerId } = row.event.metadata;
    const idx = next.get(customerId) ?? LATE_IDX;
    next.set(customerId, idx + 1);
    return { ...row, position, idx };
  });
};

const placeOf = ({ event: { metadata, position } }: EventNotification) => ({
  customerId: metadata.customerId,
  position,
});

function* inserts(rows: readonly PlacedNotification[], purpose: Purpose | undefined): Generator<QueryConfig> {
  for (const piece of inPieces(rows)) yield insertStatement(piece, purpose);
}

/** A copy is made of the whole log, and the purge would delete most of its rows. */
const insertStatement = (rows: readonly PlacedNotification[], purpose: Purpose | undefined): QueryConfig => {
  const texts = (of: (row: PlacedNotification) => string): Buffer => textArray(rows.map(of));
  return {
    name: 'notifications-insert',
    text: `insert into notifications (customer_id, position, idx, id, kind, resource_type, resource_id,
             advertiser_id, occurred_at, revision, changed, path)
           select customer_id, position, idx, id, kind, resource_type, resource_id, nullif(advertiser_id, 0),
             occurred_at::timestamptz, revision, string_to_array(changed, ' '), nullif(path, '')
           from unnest($1::bigint[], $2::text[], $3::int[], $4::uuid[], $5::text[], $6::text[], $7::text[],
             $8::int[], $9::text[], $10::bigint[], $11::text[], $12::text[])
             as n(customer_id, position, idx, id, kind, resource_type, resource_id, advertiser_id, occurred_at,
               revision, changed, path)
           where not $13::boolean
             or occurred_at::timestamptz > now() - interval '${NOTIFICATION_ROWS_DAYS} days'
           on conflict do nothing`,
    values: [
      int8Array(rows.map(({ event }) => event.metadata.customerId)),
      texts(({ position }) => position),
      int4Array(rows.map(({ idx }) => idx)),
      uuidArray(rows.map(({ id }) => id)),
      texts(({ kind }) => kind),
      texts(({ resourceType }) => resourceType),
      texts(({ resourceId }) => resourceId),
      int4Array(rows.map(({ advertiserId = 0 }) => advertiserId)),
      texts(({ occurredAt }) => occurredAt),
      int8Array(rows.map(({ revision }) => revision)),
      texts(({ changed }) => changed.join(' ')),
      texts(({ path = '' }) => path),
      purpose === 'rows',
    ],
  };
};
