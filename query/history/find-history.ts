import { ApiError, notFound } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import type { Asked, AuditedKind, FoundStream, Moment, Place } from '../resources/audited-kind.ts';
import type { KeyUsers } from './event-resource.ts';
import type { Folded } from './fold.ts';
import type { ForEach } from '../../shared/async/limit.ts';
import type { PointInTime } from './point-in-time.ts';
import type { StreamHistory } from './stream-history.ts';

export interface HistoryReads {
  /** For one request: it ends when nobody waits for that any more. */
  readonly historyFor: (request: Pick<RequestContext, 'isUnheard'>) => StreamHistory;
  /** Shared by whatever reads many streams for one answer. */
  readonly forEach: ForEach;
  /** Of the API keys among these actors: whose they are, revoked ones too. */
  readonly usersOf: (customerId: number, actors: readonly string[]) => Promise<KeyUsers>;
}

const eachInTurn: ForEach = async (items, work) => {
  for (const item of items) await work(item);
};

/** @param at ISO 8601, UTC, milliseconds */
export const momentOf = (
  { historyFor, forEach }: HistoryReads,
  request: Pick<RequestContext, 'principal' | 'isUnheard'>,
  at: string,
): Moment => ({
  customerId: request.principal.customerId,
  at,
  statesOf: async (kind, streams) => {
    const history = historyFor(request);
    const states: unknown[] = [];
    // One does not wait for those who read many.
    const together: ForEach = streams.length > 1 ? forEach : eachInTurn;
    await together(streams.entries(), async ([n, stream]) => {
      states[n] = (await history.stateAt(kind, stream, { instant: at })).state;
    });
    return states;
  },
});

export interface FoundHistory extends FoundStream {
  /** As it is now. */
  readonly latest: Folded<unknown>;
}

/**
 * The thing that a path names, whatever has become of it.
 * @throws ApiError NOT_FOUND when the account has, and had, no such thing there
 */
export const findHistory = async (
  history: StreamHistory,
  kind: AuditedKind,
  place: Place,
  customerId: number,
  asked: Asked,
): Promise<FoundHistory> => {
  const found = await place.find(customerId, asked);
  if (found === undefined) throw notFound(kind.noun);
  const latest = await history.stateAt(kind, found.stream, { revision: 'last' });
  if (!place.isAt(latest.state, asked, found.part)) throw notFound(kind.noun);
  return { ...found, latest };
};

/**
 * @param field the parameter that the point was asked for with
 * @throws ApiError NOT_FOUND for a revision that the thing does not have yet
 */
export const expectReached = (
  { noun }: AuditedKind,
  { revision: last }: Folded<unknown>,
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

/** The thing is there, and was not at that point. */
export const notThere = ({ noun }: AuditedKind, point: PointInTime, field: string): ApiError =>
  new ApiError({
    code: 'NOT_FOUND',
    message: `The ${noun} was not there then (${'instant' in point ? point.instant : `revision ${point.revision}`}). Its history says when it was.`,
    field,
  });
