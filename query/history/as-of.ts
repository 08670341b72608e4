import { z } from 'zod';
import { notFound } from '../../shared/http/errors.ts';
import { route, type Route, type RouteDeclaration } from '../../shared/http/route.ts';
import { parameterNames } from '../../shared/http/openapi.ts';
import type { RequestParams, AuditedKind, Detail, Place } from '../resources/audited-kind.ts';
import {
  expectReached,
  findHistory,
  momentOf,
  notThere,
  type HistoryReader,
  type HistoryReads,
} from './find-history.ts';
import { pointInTime, type PointInTime } from './point-in-time.ts';

/** Adds the parameter `asOf` to reads. @throws Error if no route implements a declared read */
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
  if (details.size > 0) throw new Error(`no route implements these reads: ${[...details.keys()].join()}`);
  return wrapped;
};

const NOW: PointInTime = { instant: '9999-12-31T23:59:59.999Z' };

/** Folded from events alone: for a process without read models. */
export const stateRoutes = (reads: HistoryReads, kinds: readonly AuditedKind[]): readonly Route[] =>
  kinds.flatMap((kind) => {
    const { place, details } = kind;
    if (place === undefined) return [];
    const read = details.map((detail) => stateRoute(reads, { kind, place, detail }, detail.route));
    if (details.some(({ route: { path } }) => path === place.path)) return read;
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
      const asked = { ...(input.params as RequestParams), ...(input.query as RequestParams | undefined) };
      return { status: 200, data: await readAsOf(reads, of, input.request, asked, NOW) };
    },
  });
  return answeringAsOf(reads, read, of);
};

/** Ignoring the parameter, like unknown ones, would show the present instead of the past. */
export const refusingAsOf = (routes: readonly Route[]): readonly Route[] =>
  routes.map((one) => {
    const isRead = one.method === 'get' && one.path.startsWith('/api/');
    if (!isRead || parameterNames(one.query).includes('asOf')) return one;
    return { ...one, refusedQuery: { asOf: 'This read cannot answer how it was then.' } };
  });

export interface DetailOfKind {
  readonly kind: AuditedKind;
  readonly place: Place;
  readonly detail: Detail;
}

const answeringAsOf = (reads: HistoryReads, read: Route, of: DetailOfKind): Route => {
  const { query = z.object({}) } = read;
  if (!(query instanceof z.ZodObject)) throw new Error(`the query of ${read.operationId} has no members`);
  const asOf = pointInTime(
    'A point in the past: a revision of its history (`.../history`), or a time. Default: now.',
  );
  return {
    ...read,
    query: query.extend({ asOf: asOf.optional() }),
    handle: async (input) => {
      const { asOf: point, ...others } = input.query as { readonly asOf?: PointInTime };
      if (point === undefined) return read.handle({ ...input, query: others });
      const asked = { ...(input.params as RequestParams), ...others };
      const data = await readAsOf(reads, of, input.request, asked, point);
      return { status: 200, data };
    },
  };
};

export const readAsOf = async (
  reads: Pick<HistoryReads, 'historyFor' | 'forEach'>,
  { kind, place, detail }: DetailOfKind,
  request: HistoryReader,
  asked: RequestParams,
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
  // Only a caller that may see the present resource learns why.
  const { latest } = await findHistory(history, kind, place, customerId, asked);
  expectReached(kind, latest, point, 'asOf');
  throw notThere(kind, point, 'asOf');
};
