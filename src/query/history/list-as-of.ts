import { z } from 'zod';
import { isoTimestamp } from '../../shared/clock.ts';
import { ApiError } from '../../shared/http/errors.ts';
import type { Reply, RequestContext, Route } from '../../shared/http/route.ts';
import { instant, pageOf } from '../../shared/http/schemas.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessSql,
  type Freshness,
} from '../../shared/read-your-writes/account-mark.ts';
import { consistentRead } from '../../shared/read-your-writes/consistent-read.ts';
import { behind } from '../resources/behind.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';
import type { Asked, AuditedKind, ListRead } from './audited-kind.ts';
import type { HistoryReads } from './find-history.ts';

/** Things that are folded for one answer: what they were then is in no row that could be asked. */
const FOLDED_MAX = 500;
/** More than any table has rows. */
const COUNT_ALL = Number.MAX_SAFE_INTEGER;

/** Gives lists, among these routes, the parameter `asOf`: what they held at a moment. */
export const withListAsOf = (
  reads: HistoryReads & ResourceReads,
  kinds: readonly AuditedKind[],
  routes: readonly Route[],
): readonly Route[] => {
  const lists = new Map(
    kinds.flatMap((kind) => kind.lists.map((list) => [list.operationId, { kind, list }] as const)),
  );
  return routes.map((route) => {
    const of = lists.get(route.operationId);
    return of === undefined ? route : answeringAsOf(reads, route, of.kind, of.list);
  });
};

const answeringAsOf = (
  reads: HistoryReads & ResourceReads,
  route: Route,
  kind: AuditedKind,
  list: ListRead,
): Route => {
  const { query = z.object({}) } = route;
  if (!(query instanceof z.ZodObject)) throw new Error(`the query of ${route.operationId} has no members`);
  const asOf = instant().optional().meta({ description: 'The list as it was then. Default: as it is.' });
  return {
    ...route,
    query: query.extend({ asOf }),
    handle: async (input) => {
      const { asOf: atMs, ...others } = input.query as Asked & { readonly asOf?: number };
      if (atMs === undefined) return route.handle({ ...input, query: others });
      return listAsOf(reads, kind, list, input.request, others, isoTimestamp(atMs));
    },
  };
};

const listAsOf = async (
  reads: HistoryReads & ResourceReads,
  kind: AuditedKind,
  list: ListRead,
  request: Pick<RequestContext, 'principal' | 'isUnheard'>,
  asked: Asked,
  at: string,
): Promise<Reply> => {
  const { customerId } = request.principal;
  const { skip, take } = pageOf(asked);
  const isWhole = list.isEverything(asked);
  const bounds = isWhole ? { skip, take } : { skip: 0, take: FOLDED_MAX, countMax: FOLDED_MAX + 1 };
  const { ids, total: candidates } = await idsAt(reads, list, customerId, asked, at, bounds).catch(behind);
  if (!isWhole && candidates > FOLDED_MAX) throw tooMany(kind, list.narrower);
  const states = await foldAll(reads, kind, list, request, ids, at);
  const shown = states.flatMap((state) => {
    const one = list.shown(state);
    return one !== undefined && list.keeps(one, asked) ? [one] : [];
  });
  const data = isWhole ? shown : shown.slice(skip, skip + take);
  const total = isWhole ? candidates : shown.length;
  return { status: 200, data, pagination: { skip, take, total, hasMore: skip + data.length < total } };
};

const tooMany = ({ noun }: AuditedKind, narrower: string): ApiError =>
  new ApiError({
    code: 'VALIDATION_ERROR',
    message: `There were more ${noun}s by then than the ${FOLDED_MAX} that are looked through for a list of the past. ${narrower}`,
    field: 'asOf',
    details: { limit: FOLDED_MAX },
  });

interface Bounds {
  readonly skip: number;
  readonly take: number;
  /** More are not counted, and then none is looked for. Default: all are counted. */
  readonly countMax?: number;
}

/** What had been created by then, newest first, as the list itself has it; and how many that were. */
const idsAt = async (
  { database, progress }: ResourceReads,
  { table, owner }: ListRead,
  customerId: number,
  asked: Asked,
  at: string,
  { skip, take, countMax }: Bounds,
): Promise<{ readonly ids: readonly string[]; readonly total: number }> => {
  const of = owner === undefined ? undefined : asked[owner.parameter];
  const where = `t.customer_id = $1 and t.created_at <= $3::timestamptz
    ${of === undefined ? '' : `and t.${owner?.column} = $7`}`;
  return consistentRead<Freshness & { readonly ids: readonly string[]; readonly total: number }>({
    pool: boundTo(database, customerId),
    projection: table,
    progress,
    query: {
      name: `list-as-of-${table}${of === undefined ? '' : '-of-owner'}`,
      text: `with counted as materialized (
               select count(*)::int as total from (select from ${table} t where ${where} limit $6::bigint) c)
             select ${freshnessColumns('f')}, (select total from counted) as total,
               array(select t.id::text from ${table} t
                     where ${where} and (select total from counted) < coalesce($6::bigint, ${COUNT_ALL})
                     order by t.created_at desc, t.id desc limit $4::bigint offset $5::bigint) as ids
             from ${freshnessSql('$1', '$2')} f`,
      values: [customerId, table, at, take, skip, countMax ?? null, ...(of === undefined ? [] : [of])],
    },
  });
};

const foldAll = async (
  { historyFor, lanes }: HistoryReads,
  kind: AuditedKind,
  { streamOf }: ListRead,
  request: Pick<RequestContext, 'principal' | 'isUnheard'>,
  ids: readonly string[],
  at: string,
): Promise<readonly unknown[]> => {
  const states: unknown[] = [];
  const { customerId } = request.principal;
  const history = historyFor(request);
  await lanes(ids.entries(), async ([n, id]) => {
    states[n] = (await history.stateAt(kind, streamOf(customerId, id), { instant: at })).state;
  });
  return states;
};
