import { z } from 'zod';
import { EventType } from '../../domain/event-sources/event-type.ts';
import { instant, Timestamp } from '../../domain/values.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { pathIntegerId } from '../../shared/http/schemas.ts';
import { isoTimestampSql } from '../../shared/postgres/build-statement.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessOfBothSql,
  type Freshness,
} from '../../shared/follow-log/written-position.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';

export interface EventSummaryReads extends ResourceReads {
  readonly clock: Clock;
}

const HOUR_MS = 3_600_000;
const HOURS_MAX = 31 * 24;
const HOURS_DEFAULT = 24;

const EventSummary = z
  .strictObject({
    periodStart: Timestamp,
    periodEnd: Timestamp,
    entries: z.array(z.strictObject({ eventHour: Timestamp, eventType: EventType, eventCount: z.int() })),
    totalEventCount: z.int(),
  })
  .meta({ id: 'EventSummary' });

type EventSummary = z.infer<typeof EventSummary>;

const Hour = instant().transform((epochMs) => Math.floor(epochMs / HOUR_MS));

const refused = (field: string, message: string): ApiError =>
  new ApiError({ code: 'VALIDATION_ERROR', message, field });

export const hourParameters = {
  startHour: Hour.optional().meta({ description: 'Default: 23 hours before the last one.' }),
  endHour: Hour.optional().meta({ description: 'Default: the current hour.' }),
};

export interface Period {
  readonly periodStart: string;
  readonly periodEnd: string;
}

/** @throws ApiError VALIDATION_ERROR if it is reversed or too long */
export const periodOf = (
  clock: Clock,
  { startHour, endHour }: { readonly startHour?: number | undefined; readonly endHour?: number | undefined },
): Period => {
  const now = Math.floor(clock.now() / HOUR_MS);
  const end = endHour ?? Math.max(now, startHour ?? now);
  const start = startHour ?? Math.max(0, end - HOURS_DEFAULT + 1);
  if (start > end) throw refused('startHour', 'startHour must not be after endHour.');
  if (end - start >= HOURS_MAX) throw refused('startHour', `Ask for at most ${HOURS_MAX} hours at once.`);
  return { periodStart: isoTimestamp(start * HOUR_MS), periodEnd: isoTimestamp(end * HOUR_MS) };
};

/** Counts by hour and type, over all of an advertiser's sources. */
export const eventSummaryRoute = (reads: EventSummaryReads): Route =>
  route({
    method: 'get',
    path: '/api/v2/buyer/advertisers/{id}/events/summary',
    operationId: 'getEventSummary',
    summary: 'Number of events by hour and type; startHour and endHour are included',
    tag: 'Event Sources',
    access: 'exchange:read',
    params: z.object({ id: pathIntegerId('advertiser') }),
    query: z.object({
      ...hourParameters,
      eventType: EventType.optional(),
    }),
    responses: { 200: { description: 'Hours without events are left out', data: EventSummary } },
    handle: async ({ params: { id }, query, request }) => {
      const period = periodOf(reads.clock, query);
      const { customerId } = request.principal;
      const summary = await summarise(reads, customerId, id, { ...period, eventType: query.eventType }).catch(
        refuseIfBehind,
      );
      if (summary === undefined) throw notFound('advertiser');
      return { status: 200, data: { ...period, ...summary } satisfies EventSummary };
    },
  });

interface SummaryRow extends Freshness {
  readonly known: boolean;
  readonly entries: string;
}

const summarise = async (
  { database, progress }: EventSummaryReads,
  customerId: number,
  advertiserId: number,
  { periodStart, periodEnd, eventType }: Period & { readonly eventType: EventType | undefined },
): Promise<Pick<EventSummary, 'entries' | 'totalEventCount'> | undefined> => {
  const { known, entries: text } = await consistentRead<SummaryRow>({
    pool: boundTo(database, customerId),
    projection: 'conversions',
    progress,
    query: {
      name: 'event-summary',
      text: `select ${freshnessColumns('f')},
               exists (select from advertisers a where a.customer_id = $1 and a.id = $3) as known,
               coalesce(summed.entries, '[]') as entries
             from ${freshnessOfBothSql('$1', '$2', `'conversions'`, 'conversion_positions')} f, lateral (
               select json_agg(json_build_object(
                 'eventHour', ${isoTimestampSql('s.hour')}, 'eventType', s.event_type, 'eventCount', s.events)
                 order by s.hour, s.event_type)::text as entries
               from (select h.hour, h.event_type, sum(h.event_count)::bigint as events from conversion_hours h
                     where h.customer_id = $1 and h.advertiser_id = $3
                       and h.hour between $4::timestamptz and $5::timestamptz
                       and ($6::text is null or h.event_type = $6)
                     group by h.hour, h.event_type) s
             ) summed`,
      values: [customerId, 'advertisers', advertiserId, periodStart, periodEnd, eventType ?? null],
    },
  });
  if (!known) return undefined;
  const entries = JSON.parse(text) as EventSummary['entries'];
  return { entries, totalEventCount: entries.reduce((sum, { eventCount }) => sum + eventCount, 0) };
};
