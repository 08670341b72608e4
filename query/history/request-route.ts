import { z } from 'zod';
import { AuditLog } from '../../domain/history/audit-log-resource.ts';
import { CauseNode } from '../../domain/history/cause-resource.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import { route, type RequestContext, type Route } from '../../shared/http/route.ts';
import { boundedText } from '../../domain/values.ts';
import { takeParameter } from '../../shared/http/schemas.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import type { CausedRow, EventRow } from './audit-entries.ts';
import { entriesOf, type AuditReads } from './audit-routes.ts';
import { causeTree } from './cause-tree.ts';
import { causesOf, type Effect } from './causes-of.ts';
import { findCaused, findEarlier, REFUSED_MAX, type EarlierEvent } from './find-caused.ts';
import type { JobHistory } from '../resources/job-history.ts';
import type { StreamHistory } from './stream-history.ts';

const TAKE_MAX = 500;
/** Events read before and after a page's, to find how its jobs began and ended. */
const JOB_EVENTS_MAX = 200;

const CausedByRequest = z
  .strictObject({
    requestId: z.string(),
    causes: z.array(CauseNode).readonly().meta({
      description:
        'The commands of the request, each with all its effects. Effects of a node on an earlier page are at the top and name that node in causedBy; nodes with the same id are the same node.',
    }),
    refused: z
      .array(AuditLog)
      .readonly()
      .meta({
        description: `Refused requests, on the first page only; at most the first ${REFUSED_MAX}.`,
      }),
    refusedTruncated: z.boolean().meta({ description: `More than ${REFUSED_MAX} were refused.` }),
    nextAfter: z.string().optional().meta({
      description: '`after` of the next page. Absent on the last page.',
    }),
  })
  .meta({ id: 'CausedByRequest' });

export const requestRoute = (reads: AuditReads): Route =>
  route({
    method: 'get',
    path: '/api/v2/buyer/requests/{requestId}',
    operationId: 'getRequest',
    summary: 'The effects of a request: its changes, and the jobs and agent calls that they caused',
    tag: 'Audit log',
    access: 'exchange:admin',
    params: z.object({
      requestId: boundedText(1, 128).meta({ description: '`X-Request-Id` of its answer.' }),
    }),
    query: z.object({
      after: boundedText(1, 100)
        .optional()
        .meta({ description: '`nextAfter` of the page before. Default: the first page.' }),
      take: takeParameter(TAKE_MAX).meta({ description: 'Events on a page. Default 50.' }),
    }),
    responses: { 200: { description: 'The effects', data: CausedByRequest } },
    handle: async ({ params: { requestId }, query: { after, take }, request }) => {
      const { customerId } = request.principal;
      if (after !== undefined && !reads.isPosition(after)) throw neverGivenOut();
      const found = await findCaused(reads, customerId, requestId, { after, take }).catch(refuseIfBehind);
      const { events, refused } = found;
      if (after === undefined && events.length + refused.length === 0) {
        throw notFound('request that changed anything');
      }
      const history = reads.historyFor(request);
      const rows = events.slice(0, take);
      const entries = await entriesOf(reads, customerId, history, rows);
      const shown = rows.slice(0, entries.length);
      const jobs = await jobsOf(reads, history, shown);
      const causes = causeTree({
        rows: shown,
        entries,
        jobs,
        causes: await causesOfPage(reads, history, request, requestId, shown, jobs),
        isJob: (row) => isOfWorker(row) && reads.kindOf(row)?.causes.jobsAmong === undefined,
        hasFailed: ({ type }) => reads.failures.has(type),
      });
      const data = {
        requestId,
        causes,
        refused: await entriesOf(reads, customerId, history, refused.slice(0, REFUSED_MAX)),
        refusedTruncated: refused.length > REFUSED_MAX,
        ...(shown.length < events.length ? { nextAfter: shown.at(-1)?.position } : {}),
      };
      return { status: 200, data };
    },
  });

/** Otherwise the text would be compared like a position, with arbitrary results. */
const neverGivenOut = (): ApiError =>
  new ApiError({
    code: 'VALIDATION_ERROR',
    message: 'This was never given out. Send the nextAfter of the page before, or none for the first page.',
    field: 'after',
  });

const isOfWorker = ({ actor, requestId, correlationId }: EventRow): boolean =>
  actor.startsWith('worker:') && requestId !== correlationId;

const jobsOf = async (
  { kindOf, forEach }: AuditReads,
  history: StreamHistory,
  rows: readonly EventRow[],
): Promise<readonly JobHistory[]> => {
  const streams = new Map<string, { readonly first: EventRow; readonly last: EventRow }>();
  for (const row of rows) {
    if (kindOf(row)?.causes.jobsAmong === undefined) continue;
    streams.set(row.stream, { first: streams.get(row.stream)?.first ?? row, last: row });
  }
  const jobs: JobHistory[] = [];
  await forEach(streams, async ([stream, { first, last }]) => {
    const kind = kindOf(first);
    if (kind?.causes.jobsAmong === undefined) return;
    // A job on this page may have begun on an earlier one.
    const from = Math.max(0, first.revision - JOB_EVENTS_MAX);
    const limit = last.revision - from + JOB_EVENTS_MAX;
    const { events, state } = await history.eventsBehind(kind, stream, from, limit);
    jobs.push(...kind.causes.jobsAmong(events, state));
  });
  return jobs;
};

const causesOfPage = async (
  reads: AuditReads,
  history: StreamHistory,
  { principal }: Pick<RequestContext, 'principal'>,
  requestId: string,
  rows: readonly CausedRow[],
  jobs: readonly JobHistory[],
): Promise<ReadonlyMap<string, string>> => {
  const [first] = rows;
  const steps = new Set(jobs.flatMap((job) => job.steps));
  const effects: Effect[] = [];
  await reads.forEach(rows, async (row) => {
    const kind = reads.kindOf(row);
    if (kind === undefined || !isOfWorker(row) || steps.has(row.id)) return;
    const followed = kind.causes.followed !== undefined;
    const state = followed
      ? (await history.stateAt(kind, row.stream, { revision: row.revision })).state
      : undefined;
    effects.push({ row, kind, state });
  });
  if (first === undefined || effects.length === 0) return new Map();
  const before = await findEarlier(reads, principal.customerId, requestId, first.position);
  return causesOf(effects, [...before, ...rows.map(earlierEvent)]);
};

const earlierEvent = ({
  position,
  stream,
  causationId,
  requestId,
  correlationId,
}: EventRow): EarlierEvent => ({
  position,
  stream,
  causationId,
  isRequested: requestId === correlationId,
});
