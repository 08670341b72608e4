import { z } from 'zod';
import { EVENT_SOURCE } from '../../domain/event-sources/event-source.ts';
import { boundedText, Timestamp } from '../../domain/values.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import {
  freshnessColumns,
  freshnessOfBothSql,
  type Freshness,
} from '../../shared/follow-log/written-position.ts';
import { notFound } from '../../shared/http/errors.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { pathIntegerId } from '../../shared/http/schemas.ts';
import { isoTimestampSql } from '../../shared/postgres/build-statement.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import { hourParameters, periodOf, type EventSummaryReads, type Period } from './event-summary.ts';

const ReceivedEvents = z
  .strictObject({
    periodStart: Timestamp,
    periodEnd: Timestamp,
    entries: z.array(
      z.strictObject({
        hour: Timestamp.meta({ description: 'Beginning of the hour of receipt (UTC).' }),
        accepted: z.int().meta({ description: 'Events that count.' }),
        rejected: z
          .array(
            z.strictObject({
              reason: z.string().meta({ description: 'As in the answer to the call that sent them.' }),
              count: z.int().meta({ description: 'Events rejected for this reason.' }),
            }),
          )
          .meta({ description: 'The most frequent reason first.' }),
      }),
    ),
    totalAccepted: z.int().meta({ description: 'Sum of all entries.' }),
    totalRejected: z.int().meta({ description: 'Sum of all entries.' }),
  })
  .meta({ id: 'ReceivedEvents' });

type ReceivedEvents = z.infer<typeof ReceivedEvents>;

/** By hour of receipt. Duplicates are in neither count: they leave no trace in the log. */
export const receivedEventsRoute = (reads: EventSummaryReads): Route =>
  route({
    method: 'get',
    path: '/api/v2/buyer/advertisers/{id}/events/received',
    operationId: 'getReceivedEvents',
    summary:
      'Number of events by the hour in which they arrived: accepted, and rejected by reason; duplicates are not counted',
    tag: 'Event Sources',
    access: 'exchange:read',
    params: z.object({ id: pathIntegerId('advertiser') }),
    query: z.object({
      ...hourParameters,
      eventSourceId: boundedText(1, 256).optional().meta({ description: 'Default: all event sources.' }),
    }),
    responses: { 200: { description: 'Hours without events are left out', data: ReceivedEvents } },
    handle: async ({ params: { id }, query: { eventSourceId, ...query }, request }) => {
      const { customerId } = request.principal;
      const period = periodOf(reads.clock, query);
      const sourceId =
        eventSourceId === undefined ? null : resourceIdOf(EVENT_SOURCE, customerId, id, eventSourceId);
      const entries = await readReceipts(reads, customerId, id, sourceId, period).catch(refuseIfBehind);
      if (entries === undefined) throw notFound('advertiser');
      const data = { ...period, entries, ...totalsOf(entries) };
      return { status: 200, data: data satisfies ReceivedEvents };
    },
  });

const rejectedOf = ({ rejected }: ReceivedEvents['entries'][number]): number =>
  rejected.reduce((sum, { count }) => sum + count, 0);

const totalsOf = (entries: ReceivedEvents['entries']) => ({
  totalAccepted: entries.reduce((sum, { accepted }) => sum + accepted, 0),
  totalRejected: entries.reduce((sum, entry) => sum + rejectedOf(entry), 0),
});

interface ReceiptRow extends Freshness {
  readonly known: boolean;
  readonly entries: string;
}

/** @returns undefined if the advertiser does not exist */
const readReceipts = async (
  { database, progress }: EventSummaryReads,
  customerId: number,
  advertiserId: number,
  sourceId: string | null,
  { periodStart, periodEnd }: Period,
): Promise<ReceivedEvents['entries'] | undefined> => {
  const { known, entries } = await consistentRead<ReceiptRow>({
    pool: boundTo(database, customerId),
    projection: 'conversions',
    progress,
    query: {
      name: 'received-events',
      text: `select ${freshnessColumns('f')},
               exists (select from advertisers a where a.customer_id = $1 and a.id = $3) as known,
               coalesce(summed.entries, '[]') as entries
             from ${freshnessOfBothSql('$1', '$2', `'conversions'`, 'conversion_positions')} f, lateral (
               select json_agg(json_build_object('hour', ${isoTimestampSql('h.hour')}, 'accepted', h.accepted,
                 'rejected', h.rejected) order by h.hour)::text as entries
               from (select s.hour, coalesce(sum(s.events) filter (where s.reason = ''), 0)::bigint as accepted,
                       coalesce(json_agg(json_build_object('reason', s.reason, 'count', s.events)
                         order by s.events desc, s.reason) filter (where s.reason <> ''), '[]') as rejected
                     from (select r.hour, r.reason, sum(r.event_count)::bigint as events
                           from conversion_receipts r
                           where r.customer_id = $1 and r.advertiser_id = $3
                             and r.hour between $4::timestamptz and $5::timestamptz
                             and ($6::uuid is null or r.source_id = $6)
                           group by r.hour, r.reason) s
                     group by s.hour) h
             ) summed`,
      values: [customerId, 'advertisers', advertiserId, periodStart, periodEnd, sourceId],
    },
  });
  return known ? (JSON.parse(entries) as ReceivedEvents['entries']) : undefined;
};
