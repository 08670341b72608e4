import { z } from 'zod';
import { notFound } from '../../shared/http/errors.ts';
import { route, type RequestContext, type Route, type RouteDeclaration } from '../../shared/http/route.ts';
import { parameterNames } from '../../shared/http/openapi.ts';
import type { Asked, AuditedKind, Detail, Place } from '../resources/audited-kind.ts';
import { expectReached, findHistory, momentOf, notThere, type HistoryReads } from './find-history.ts';
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
        : ofKind.map((detail) => [detail.route.operationId, { kind, place, detail }] as const);
    }),
  );
  const wrapped = routes.map((one) => {
    const of = details.get(one.operationId);
    details.delete(one.operationId);
    return of === undefined ? one : answeringAsOf(reads, one, of);
  });
  if (details.size > 0) throw new Error(`there are no such reads: ${[...details.keys()].join()}`);
  return wrapped;
};

/** Of whoever asks for no point: behind every event there is. */
const NOW: PointInTime = { instant: '9999-12-31T23:59:59.999Z' };

/** How each thing that has a place is and was, made of its events alone: for who reads without a service. */
export const stateRoutes = (reads: HistoryReads, kinds: readonly AuditedKind[]): readonly Route[] =>
  kinds.flatMap((kind) => {
    const { place, details } = kind;
    if (place === undefined) return [];
    const read = details.map((detail) => stateRoute(reads, { kind, place, detail }, detail.route));
    if (details.some(({ route: { path } }) => path === place.path)) return read;
    // Where nothing is read over the API, its history is below, and who asks here means the thing.
    const { path, params } = place;
    const named = parameterNames(params);
    const detail = details.find(({ route: { params: of } }) =>
      parameterNames(of).every((name) => named.includes(name)),
    );
    if (detail === undefined) return read;
    return [stateRoute(reads, { kind, place, detail }, { ...detail.route, path, params }), ...read];
  });

const stateRoute = (reads: HistoryReads, of: DetailOfKind, declared: RouteDeclaration): Route => {
  const read = route({
    ...declared,
    responses: { 200: { description: `The ${of.kind.noun}` } },
    handle: async (input) => {
      const asked = { ...(input.params as Asked), ...(input.query as Asked | undefined) };
      return { status: 200, data: await readAsOf(reads, of, input.request, asked, NOW) };
    },
  });
  return answeringAsOf(reads, read, of);
};

/**
 * Reads that cannot answer how something was say so: passed over, as unknown parameters are, `asOf` would have them show
 * what is for what was.
 */
export const refusingAsOf = (routes: readonly Route[]): readonly Route[] =>
  routes.map((one) => {
    const isRead = one.method === 'get' && one.path.startsWith('/api/');
    if (!isRead || parameterNames(one.query).includes('asOf')) return one;
    return { ...one, refusedQuery: { asOf: 'This read cannot answer how it was then.' } };
  });

interface DetailOfKind {
  readonly kind: AuditedKind;
  readonly place: Place;
  readonly detail: Detail;
}

const answeringAsOf = (reads: HistoryReads, read: Route, of: DetailOfKind): Route => {
  const { query = z.object({}) } = read;
  if (!(query instanceof z.ZodObject)) throw new Error(`the query of ${read.operationId} has no members`);
  const asOf = pointInTime(
    'As it was: at a revision of its history (`.../history`), or at a time. Default: as it is.',
  );
  return {
    ...read,
    query: query.extend({ asOf: asOf.optional() }),
    handle: async (input) => {
      const { asOf: point, ...others } = input.query as { readonly asOf?: PointInTime };
      if (point === undefined) return read.handle({ ...input, query: others });
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
  const moment = momentOf(reads, request, 'instant' in point ? point.instant : then.at);
  const shown = isReached ? await detail.shown(then.state, asked, moment) : undefined;
  if (shown !== undefined) return shown;
  // Why not is only for whoever may see the thing as it is.
  const { latest } = await findHistory(history, kind, place, customerId, asked);
  expectReached(kind, latest, point, 'asOf');
  throw notThere(kind, point, 'asOf');
};
