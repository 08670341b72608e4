import { z } from 'zod';
import {
  ActorOrigin,
  AuditedResource,
  AuditLog,
  AuditOutcome,
} from '../../domain/history/audit-log-resource.ts';
import { isoTimestamp } from '../../shared/clock.ts';
import { ApiError } from '../../shared/http/errors.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { boundedText, instant, pageOf, pagingParameters, pathIntegerId } from '../../shared/http/schemas.ts';
import { behind } from '../resources/behind.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';
import { changesOfRows } from './audit-changes.ts';
import { listAuditRows, type AuditRow, type EventRow } from './audit-entries.ts';
import { entryOfAttempt, entryOfEvent, type Subject } from './audit-log-entry.ts';
import { LISTED_MAX, type AuditFilters } from './audit-search.ts';
import type { AuditedKind } from './audited-kind.ts';
import type { HistoryReads } from './find-history.ts';

export interface AuditReads extends HistoryReads, ResourceReads {
  readonly kinds: readonly AuditedKind[];
  /** The kind whose fold says what an event did; undefined where none does. */
  readonly kindOf: (row: EventRow) => AuditedKind | undefined;
  /** What an entry is about where no fold of its own stream says so. */
  readonly subjectOf: (customerId: number, row: EventRow) => Promise<Subject>;
  /** UUID of a campaign's id as it is shown; undefined when it is none. */
  readonly campaignIdOf: (shown: string) => string | undefined;
  /** UUID of what shares a stream with others, by its id as it is shown. */
  readonly partOf: (shown: string) => string;
}

const TAKE_MAX = 500;
const DAY_MS = 86_400_000;
/** Before everything, and after everything that can be asked for. */
const [EVER, NEVER] = ['1970-01-01T00:00:00.000Z', 'infinity'];

/** A day or a moment: days begin at midnight, UTC. */
const time = (description: string) =>
  z
    .union([
      z.iso.date().transform((date) => ({ startMs: Date.parse(date), endMs: Date.parse(date) + DAY_MS })),
      instant().transform((atMs) => ({ startMs: atMs, endMs: atMs + 1 })),
    ])
    .refine(({ startMs }) => startMs >= 0, 'must be from 1970 on')
    .meta({ type: 'string', description });

/** Several values with commas between them, each of them once. */
const listed = <Item extends z.ZodType<string, string>>(item: Item, description: string) =>
  z
    .string()
    .max(2_000)
    .transform((text) => [...new Set(text.split(','))])
    .pipe(z.array(item).max(50))
    .meta({ type: 'string', description });

const query = z.object({
  startDate: time('From then on: a date, or a time of RFC 3339.').optional(),
  endDate: time('Up to then: a date, whose day is included, or a time.').optional(),
  advertiserId: pathIntegerId('advertiser').optional(),
  campaignId: boundedText(1, 100).optional(),
  resourceTypes: listed(AuditedResource, 'Kinds of things, e.g. `CAMPAIGN,CREATIVE`.').optional(),
  resourceId: boundedText(1, 256).optional().meta({
    description:
      'Id of the thing. Of event sources, audiences and catalogs, whose ids are an advertiser’s own, with advertiserId.',
  }),
  actorOrigin: ActorOrigin.optional(),
  actorUserId: boundedText(1, 100).optional().meta({ description: 'Id of the user whose API key it was.' }),
  actions: listed(
    boundedText(1, 100),
    'Types of events, e.g. `CampaignLaunched,CampaignPaused`, or operations that were refused.',
  ).optional(),
  outcome: AuditOutcome.optional(),
  ...pagingParameters(TAKE_MAX),
});
type Query = z.infer<typeof query>;

const AuditLogs = z
  .strictObject({
    logs: z.array(AuditLog),
    total: z.int().meta({ description: `At most ${LISTED_MAX}: the newest ones that fit.` }),
    searchedFrom: z.iso.datetime({ precision: 3 }).optional().meta({
      description:
        'What is older was not looked at: to go on there, ask with this time as endDate. Absent: all of it was.',
    }),
  })
  .meta({ id: 'AuditLogs' });

/** The audit log of decisions.md section 2. */
export const auditLogRoute = (reads: AuditReads): Route =>
  route({
    method: 'get',
    path: '/api/v2/buyer/audit-logs',
    operationId: 'listAuditLogs',
    summary: 'Who did what in the account, newest first: changes, and what was refused',
    tag: 'Audit log',
    access: 'exchange:admin',
    query,
    responses: { 200: { description: 'One page', data: AuditLogs, paginated: true } },
    handle: async ({ query: asked, request }) => {
      const { customerId } = request.principal;
      const { skip, take } = pageOf(asked);
      const filters = filtersOf(reads, customerId, asked);
      const found = await listAuditRows(reads, customerId, filters, { skip, take }).catch(behind);
      const { rows, total, searchedFrom } = found;
      const logs = await entriesOf(reads, customerId, rows);
      const pagination = { skip, take, total, hasMore: skip + logs.length < total };
      const data = { logs, total, ...(searchedFrom === undefined ? {} : { searchedFrom }) };
      return { status: 200, data, pagination };
    },
  });

const filtersOf = (
  { kinds, campaignIdOf, partOf }: AuditReads,
  customerId: number,
  asked: Query,
): AuditFilters => {
  const { startDate, endDate, advertiserId, campaignId, resourceId, actorUserId } = asked;
  if (startDate !== undefined && endDate !== undefined && startDate.startMs >= endDate.endMs) {
    const message = 'endDate must not be before startDate.';
    throw new ApiError({ code: 'VALIDATION_ERROR', message, field: 'endDate' });
  }
  return {
    from: startDate === undefined ? EVER : isoTimestamp(startDate.startMs),
    before: endDate === undefined ? NEVER : beforeOf(endDate.endMs),
    advertiserId,
    ...(campaignId === undefined
      ? {}
      : { campaign: { id: campaignIdOf(campaignId) ?? '', shown: campaignId } }),
    ...(resourceId === undefined
      ? {}
      : {
          resource: {
            streams: kinds.flatMap(({ streamsOf }) => streamsOf(customerId, resourceId, advertiserId)),
            parts: [partOf(resourceId)],
            shown: resourceId,
          },
        }),
    resourceTypes: asked.resourceTypes,
    actions: asked.actions,
    actorOrigin: asked.actorOrigin,
    userId: actorUserId,
    outcome: asked.outcome,
  };
};

/** The last day that times are written of has none after it. */
const beforeOf = (endMs: number): string =>
  endMs > Date.parse('9999-12-31T23:59:59.999Z') ? NEVER : isoTimestamp(endMs);

/** Entries with what each event changed. */
export const entriesOf = async (
  reads: AuditReads,
  customerId: number,
  rows: readonly AuditRow[],
): Promise<readonly AuditLog[]> => {
  const events = rows.filter((row) => row.kind === 'event');
  const changeOf = await changesOfRows(reads.history, events, reads.kindOf);
  return Promise.all(
    rows.map(async (row) => {
      if (row.kind === 'attempt') return entryOfAttempt(row);
      const change = changeOf(row);
      const subject = change === undefined ? await reads.subjectOf(customerId, row) : change;
      return entryOfEvent(row, change, subject);
    }),
  );
};
