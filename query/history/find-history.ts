import { ApiError, notFound } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import type { RequestParams, AuditedKind, FoundStream, Moment, Place } from '../resources/audited-kind.ts';
import type { KeyUsers } from './event-resource.ts';
import type { FoldResult } from './fold.ts';
import type { ForEach } from '../../shared/async/limit.ts';
import type { PointInTime } from './point-in-time.ts';
import type { StreamHistory } from './stream-history.ts';

export interface HistoryReads {
  /** For one request; throws ClientGoneError when the client is gone. */
  readonly historyFor: (request: Pick<RequestContext, 'isClientGone'>) => StreamHistory;
  readonly forEach: ForEach;
  /** Includes revoked keys. */
  readonly usersOf: (customerId: number, actors: readonly string[]) => Promise<KeyUsers>;
}

/** A request, or a worker. */
export interface HistoryReader extends Pick<RequestContext, 'isClientGone'> {
  readonly principal: Pick<RequestContext['principal'], 'customerId'>;
}

const oneByOne: ForEach = async (items, work) => {
  for (const item of items) await work(item);
};

/** @param at ISO 8601, UTC, milliseconds */
export const momentOf = (
  { historyFor, forEach }: Pick<HistoryReads, 'historyFor' | 'forEach'>,
  request: HistoryReader,
  at: string,
): Moment => ({
  customerId: request.principal.customerId,
  at,
  statesOf: async (kind, streams) => {
    const history = historyFor(request);
    const states: unknown[] = [];
    // A single read does not wait for answers with many.
    const together: ForEach = streams.length > 1 ? forEach : oneByOne;
    await together(streams.entries(), async ([n, stream]) => {
      states[n] = (await history.stateAt(kind, stream, { instant: at })).state;
    });
    return states;
  },
});

export interface FoundHistory extends FoundStream {
  readonly latest: FoldResult<unknown>;
}

/** @throws ApiError NOT_FOUND if the account never had such a resource */
export const findHistory = async (
  history: StreamHistory,
  kind: AuditedKind,
  place: Place,
  customerId: number,
  asked: RequestParams,
): Promise<FoundHistory> => {
  const found = await place.find(customerId, asked);
  if (found === undefined) throw notFound(kind.noun);
  const latest = await history.stateAt(kind, found.stream, { revision: 'last' });
  if (!place.isAt(latest.state, asked, found.part)) throw notFound(kind.noun);
  return { ...found, latest };
};

/** @param field the parameter with the point @throws ApiError NOT_FOUND for a revision after the last */
export const expectReached = (
  { noun }: AuditedKind,
  { revision: last }: FoldResult<unknown>,
  point: PointInTime,
  field: string,
): void => {
  if ('instant' in point || point.revision <= last) return;
  throw new ApiError({
    code: 'NOT_FOUND',
    message: `The ${noun} has no revision ${point.revision}: its last one is ${last}. Ask for that, or an earlier one.`,
    field,
    details: { lastRevision: last },
  });
};

export const notThere = ({ noun }: AuditedKind, point: PointInTime, field: string): ApiError =>
  new ApiError({
    code: 'NOT_FOUND',
    message: `The ${noun} was not there then (${'instant' in point ? point.instant : `revision ${point.revision}`}). Its history says when it was.`,
    field,
  });
