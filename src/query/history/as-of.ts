import { z } from 'zod';
import { notFound } from '../../shared/http/errors.ts';
import type { RequestContext, Route } from '../../shared/http/route.ts';
import { parameterNames } from '../../shared/http/openapi.ts';
import type { Asked, AuditedKind, Detail, Moment, Place } from './audited-kind.ts';
import { expectReached, findHistory, notThere, type HistoryReads } from './find-history.ts';
import { pointInTime, type PointInTime } from './point-in-time.ts';

/** Gives the reads of one thing, among these routes, the parameter `asOf`: how it was. */
export const withAsOf = (
  reads: HistoryReads,
  kinds: readonly AuditedKind[],
  routes: readonly Route[],
): readonly Route[] => {
  const details = new Map(
    kinds.flatMap((kind) => {
      const { place, details: ofKind } = kind;
      return place === undefined
        ? []
        : ofKind.map((detail) => [detail.operationId, { kind, place, detail }] as const);
    }),
  );
  const wrapped = routes.map((route) => {
    const of = details.get(route.operationId);
    details.delete(route.operationId);
    return of === undefined ? route : answeringAsOf(reads, route, of);
  });
  if (details.size > 0) throw new Error(`there are no such reads: ${[...details.keys()].join()}`);
  return wrapped;
};

/**
 * Reads that cannot answer how something was say so: passed over, as unknown parameters are, `asOf` would have them show
 * what is for what was.
 */
export const refusingAsOf = (routes: readonly Route[]): readonly Route[] =>
  routes.map((route) => {
    const isRead = route.method === 'get' && route.path.startsWith('/api/');
    if (!isRead || parameterNames(route.query).includes('asOf')) return route;
    return { ...route, refusedQuery: { asOf: 'This read cannot answer how it was then.' } };
  });

interface DetailOfKind {
  readonly kind: AuditedKind;
  readonly place: Place;
  readonly detail: Detail;
}

const answeringAsOf = (reads: HistoryReads, route: Route, of: DetailOfKind): Route => {
  const { query = z.object({}) } = route;
  if (!(query instanceof z.ZodObject)) throw new Error(`the query of ${route.operationId} has no members`);
  const asOf = pointInTime(
    'As it was: at a revision of its history (`.../history`), or at a time. Default: as it is.',
  );
  return {
    ...route,
    query: query.extend({ asOf: asOf.optional() }),
    handle: async (input) => {
      const { asOf: point, ...others } = input.query as { readonly asOf?: PointInTime };
      if (point === undefined) return route.handle({ ...input, query: others });
      const asked = { ...(input.params as Asked), ...others };
      const data = await readAsOf(reads, of, input.request, asked, point);
      return { status: 200, data };
    },
  };
};

const readAsOf = async (
  reads: HistoryReads,
  { kind, place, detail }: DetailOfKind,
  request: Pick<RequestContext, 'principal' | 'isUnheard'>,
  asked: Asked,
  point: PointInTime,
): Promise<unknown> => {
  const { customerId } = request.principal;
  const history = reads.historyFor(request);
  const found = await place.find(customerId, asked);
  if (found === undefined) throw notFound(kind.noun);
  const then = await history.stateAt(kind, found.stream, point);
  const isReached = !('revision' in point) || then.revision === point.revision;
  const until = { instant: 'instant' in point ? point.instant : then.at };
  const moment: Moment = {
    customerId,
    stateOf: async (other, stream) => (await history.stateAt(other, stream, until)).state,
  };
  const shown = isReached ? await detail.shown(then.state, asked, moment) : undefined;
  if (shown !== undefined) return shown;
  // Why not is only for whoever may see the thing as it is.
  const { latest } = await findHistory(history, kind, place, customerId, asked);
  expectReached(kind, latest, point, 'asOf');
  throw notThere(kind, point, 'asOf');
};
