import { z } from 'zod';
import {
  ActorOrigin,
  AuditedResource,
  AuditLog,
  AuditOutcome,
} from '../../domain/history/audit-log-resource.ts';
import { boundedText, readText } from '../../domain/values.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { ApiError } from '../../shared/http/errors.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { pageOf, pagingParameters, pathIntegerId } from '../../shared/http/schemas.ts';
import { NOT_RFC_3339, readRfc3339, RFC_3339 } from '../../domain/rfc3339.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';
import { changesOfRows, subjectsOf, type Namesake } from './audit-changes.ts';
import { listAuditRows, type AuditRow, type EventRow } from './audit-entries.ts';
import { entryOfAttempt, entryOfEvent } from './audit-log-entry.ts';
import { LISTED_MAX, type AuditFilters } from './audit-search.ts';
import type { AuditedKind } from '../resources/audited-kind.ts';
import type { HistoryReads } from './find-history.ts';
import { jsonBytes, PAGE_BYTES_MAX } from './page-bytes.ts';
import { withEmails } from './with-emails.ts';
import type { StreamHistory } from './stream-history.ts';

export interface AuditReads extends HistoryReads, ResourceReads {
  readonly kinds: readonly AuditedKind[];
  readonly kindOf: (row: EventRow) => AuditedKind | undefined;
  /** For an event whose own stream does not name its entry. */
  readonly namesakeOf: (row: EventRow) => Namesake | undefined;
  readonly failures: ReadonlySet<string>;
  readonly campaignIdOf: (shown: string) => string | undefined;
  /** The UUID, by shown id, of a resource that shares its stream. */
  readonly partOf: (shown: string) => string;
  /** At most `most` advertisers that have, or had, a resource with the key. @throws ReadModelBehindError */
  readonly ownersOf: (customerId: number, key: string, most: number) => Promise<readonly number[]>;
  readonly isPosition: (text: string) => boolean;
}

const TAKE_MAX = 500;
/** Advertisers that are searched for a key, if the request names none. */
const OWNERS_MAX = 100;
const DAY_MS = 86_400_000;
const [EVER, NEVER] = ['1970-01-01T00:00:00.000Z', 'infinity'];

const DAY = /^\d{4}-\d\d-\d\d$/;

interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

const periodOf = (text: string): Period | string => {
  const isDay = DAY.test(text);
  const startMs = readRfc3339(isDay ? `${text}T00:00:00Z` : text);
  if (typeof startMs === 'number') return { startMs, endMs: startMs + (isDay ? DAY_MS : 1) };
  return startMs === NOT_RFC_3339 ? `must be a day, e.g. "2026-01-31", or ${RFC_3339}` : startMs;
};

const time = (description: string) => readText(periodOf, { description });

const listed = <Item extends z.ZodType<string, string>>(item: Item, description: string) =>
  z
    .string()
    .max(2_000)
    .transform((text) => [...new Set(text.split(','))])
    .pipe(z.array(item).max(50))
    .meta({ type: 'string', description });

const query = z.object({
  startDate: time('Start: a date, or a time of RFC 3339.').optional(),
  endDate: time('End: a date, whose day is included, or a time.').optional(),
  advertiserId: pathIntegerId('advertiser').optional(),
  campaignId: boundedText(1, 100).optional(),
  resourceTypes: listed(AuditedResource, 'Types of resources, e.g. `CAMPAIGN,CREATIVE`.').optional(),
  resourceId: boundedText(1, 256).optional().meta({
    description:
      'Id of the resource. An id of an event source, audience or catalog is unique within its advertiser only: finds it for every advertiser, or for advertiserId.',
  }),
  actorOrigin: ActorOrigin.optional(),
  actorUserId: boundedText(1, 100).optional().meta({ description: 'Id of the user who owns the API key.' }),
  actions: listed(
    boundedText(1, 100),
    'Types of events, e.g. `CampaignLaunched,CampaignPaused`, or refused operations.',
  ).optional(),
  outcome: AuditOutcome.optional(),
  ...pagingParameters(TAKE_MAX),
});
type Query = z.infer<typeof query>;

const AuditLogs = z
  .strictObject({
    logs: z.array(AuditLog),
    total: z.int().meta({ description: `At most ${LISTED_MAX}: the newest matching entries.` }),
    nextSkip: z.int().optional().meta({
      description:
        '`skip` of the next page: a page of large entries has fewer than `take`. Absent on the last page.',
    }),
    truncated: z.boolean().meta({
      description:
        'True if there are too many entries: older ones than `searchedFrom` are neither counted nor listed.',
    }),
    searchedFrom: z.iso.datetime({ precision: 3 }).optional().meta({
      description:
        'The start of the searched period. For older entries send this time as endDate. Absent: everything was searched.',
    }),
  })
  .meta({ id: 'AuditLogs' });

export const auditLogRoute = (reads: AuditReads): Route =>
  route({
    method: 'get',
    path: '/api/v2/buyer/audit-logs',
    operationId: 'listAuditLogs',
    summary: 'Changes and refused requests of the account, newest first, with their actors',
    tag: 'Audit log',
    access: 'exchange:admin',
    query,
    responses: { 200: { description: 'One page', data: AuditLogs, paginated: true } },
    handle: async ({ query: asked, request }) => {
      const { customerId } = request.principal;
      const { skip, take } = pageOf(asked);
      const filters = await filtersOf(reads, customerId, asked);
      const found = await listAuditRows(reads, customerId, filters, { skip, take }).catch(refuseIfBehind);
      const { rows, total, searchedFrom } = found;
      const logs = await entriesOf(reads, customerId, reads.historyFor(request), rows);
      const next = skip + logs.length;
      const hasMore = next < total;
      const data = {
        logs,
        total,
        ...(hasMore ? { nextSkip: next } : {}),
        truncated: searchedFrom !== undefined,
        ...(searchedFrom === undefined ? {} : { searchedFrom }),
      };
      // A page that ends early has its length as `take`: a client that adds `skip` and `take` misses nothing.
      const taken = logs.length < rows.length ? logs.length : take;
      return { status: 200, data, pagination: { skip, take: taken, total, hasMore } };
    },
  });

const filtersOf = async (reads: AuditReads, customerId: number, asked: Query): Promise<AuditFilters> => {
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
      : { campaign: { id: reads.campaignIdOf(campaignId) ?? '', shown: campaignId } }),
    ...(resourceId === undefined
      ? {}
      : { resource: await resourceOf(reads, customerId, resourceId, advertiserId) }),
    resourceTypes: asked.resourceTypes,
    actions: asked.actions,
    actorOrigin: asked.actorOrigin,
    userId: actorUserId,
    outcome: asked.outcome,
  };
};

/** @throws ApiError VALIDATION_ERROR if too many advertisers have a resource with the key */
const resourceOf = async (
  { kinds, partOf, ownersOf }: AuditReads,
  customerId: number,
  shown: string,
  advertiserId: number | undefined,
): Promise<NonNullable<AuditFilters['resource']>> => {
  const owners =
    advertiserId === undefined
      ? await ownersOf(customerId, shown, OWNERS_MAX + 1).catch(refuseIfBehind)
      : [advertiserId];
  if (owners.length > OWNERS_MAX) {
    throw new ApiError({
      code: 'VALIDATION_ERROR',
      message: `More than ${OWNERS_MAX} advertisers have a resource with this id. Name one with advertiserId.`,
      field: 'advertiserId',
      details: { limit: OWNERS_MAX },
    });
  }
  const streams = [undefined, ...owners].flatMap((owner) =>
    kinds.flatMap(({ streamsOf }) => streamsOf(customerId, shown, owner)),
  );
  return { streams: [...new Set(streams)], parts: [partOf(shown)], shown, owners: owners.length };
};

/** The last day of a timestamp has no day after it. */
const beforeOf = (endMs: number): string =>
  endMs > Date.parse('9999-12-31T23:59:59.999Z') ? NEVER : isoTimestamp(endMs);

/** Rows that become entries together: all their changes are in memory at once, even if the page is cut. */
const ROWS_AT_ONCE = { first: 16, most: 128 };

/** Shows all rows, or the first ones that fit into `PAGE_BYTES_MAX`. @throws ClientGoneError */
export const entriesOf = async (
  reads: AuditReads,
  customerId: number,
  history: StreamHistory,
  rows: readonly AuditRow[],
): Promise<readonly AuditLog[]> => {
  const entries: AuditLog[] = [];
  let bytes = 0;
  let count = ROWS_AT_ONCE.first;
  while (entries.length < rows.length) {
    const some = rows.slice(entries.length, entries.length + count);
    for (const entry of await entriesOfSome(reads, customerId, history, some)) {
      bytes += jsonBytes(entry);
      if (bytes > PAGE_BYTES_MAX && entries.length > 0) return entries;
      entries.push(entry);
    }
    const fitting = Math.ceil((PAGE_BYTES_MAX - bytes) / (bytes / entries.length));
    count = Math.max(1, Math.min(ROWS_AT_ONCE.most, fitting));
  }
  return entries;
};

const entriesOfSome = async (
  { database, forEach, kindOf, namesakeOf }: AuditReads,
  customerId: number,
  history: StreamHistory,
  rows: readonly AuditRow[],
): Promise<readonly AuditLog[]> => {
  const events = rows.filter((row) => row.kind === 'event');
  const changeOf = await changesOfRows(history, forEach, events, kindOf);
  const namesakes = events.flatMap((row) => (kindOf(row) === undefined ? (namesakeOf(row) ?? []) : []));
  const subjects = await subjectsOf(history, forEach, namesakes);
  const entries = rows.map((row) => {
    if (row.kind === 'attempt') return entryOfAttempt(row);
    const change = changeOf(row);
    return entryOfEvent(row, change, change ?? subjects.get(namesakeOf(row)?.stream ?? '') ?? unnamed);
  });
  return withEmails(database, customerId, entries);
};

const unnamed = { id: undefined, name: undefined };
