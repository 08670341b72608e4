import { z } from 'zod';
import { instant } from '../../domain/values.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import { parameterNames } from '../../shared/http/openapi.ts';
import {
  route,
  type Reply,
  type RequestContext,
  type Route,
  type RouteDeclaration,
} from '../../shared/http/route.ts';
import { pageOf } from '../../shared/http/schemas.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import { freshnessColumns, freshnessSql, type Freshness } from '../../shared/follow-log/written-position.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ListCursors } from '../resources/list-cursor.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';
import type {
  RequestParams,
  AuditedKind,
  ListOwner,
  ListRead,
  SharedListRead,
} from '../resources/audited-kind.ts';
import { momentOf, type HistoryReads } from './find-history.ts';

interface ListAsOfReads extends HistoryReads, ResourceReads {
  readonly cursors: ListCursors;
  readonly clock: Clock;
}

/** For one answer. Read models keep no past states. */
const FOLDED_MAX = 500;
/** A campaign's events, searched for its resources. */
const SCANNED_MAX = 20_000;
const COUNT_ALL = Number.MAX_SAFE_INTEGER;

/** Adds the parameter `asOf` to lists. @throws Error if no route implements a declared list */
export const withListAsOf = (
  reads: ListAsOfReads,
  kinds: readonly AuditedKind[],
  routes: readonly Route[],
): readonly Route[] => {
  const lists = new Map(
    pastsOf(reads, kinds).map(({ declared, past }) => [declared.operationId, past] as const),
  );
  const wrapped = routes.map((one) => {
    const past = lists.get(one.operationId);
    lists.delete(one.operationId);
    return past === undefined ? one : answeringAsOf(one, past);
  });
  if (lists.size > 0) throw new Error(`no route implements these lists: ${[...lists.keys()].join()}`);
  return wrapped;
};

const NOW = '9999-12-31T23:59:59.999Z';

/** Folded from events alone: for a process without read models. */
export const pastLists = (reads: ListAsOfReads, kinds: readonly AuditedKind[]): readonly Route[] =>
  pastsOf(reads, kinds).map(({ declared, past }) => {
    const list = route({
      ...declared,
      responses: { 200: { description: 'One page' } },
      handle: ({ params, query, request }) =>
        past(
          request,
          { ...(params as RequestParams | undefined), ...(query as RequestParams | undefined) },
          NOW,
        ),
    });
    return answeringAsOf(list, past);
  });

interface PastOfList {
  readonly declared: RouteDeclaration;
  readonly past: Past;
}

const pastsOf = (reads: ListAsOfReads, kinds: readonly AuditedKind[]): readonly PastOfList[] =>
  kinds.flatMap((kind) => [
    ...kind.lists.map((list): PastOfList => {
      const owner = list.owner && ownerOf(kinds, list.owner);
      return {
        declared: list.route,
        past: (...question) => listAsOf(reads, { kind, list, owner }, ...question),
      };
    }),
    ...kind.sharedLists.map((list): PastOfList => ({
      declared: list.route,
      past: (...question) => sharedListAsOf(reads, { kind, list }, ...question),
    })),
  ]);

/** @param at ISO 8601, UTC, milliseconds */
type Past = (
  request: Pick<RequestContext, 'principal' | 'isClientGone'>,
  asked: RequestParams,
  at: string,
) => Promise<Reply>;

interface ListOfKind {
  readonly kind: AuditedKind;
  readonly list: ListRead;
  readonly owner: (ListOwner & { readonly kind: AuditedKind }) | undefined;
}

const ownerOf = (kinds: readonly AuditedKind[], owner: ListOwner): ListOfKind['owner'] => {
  const kind = kinds.find(({ resourceType }) => resourceType === owner.resourceType);
  if (kind === undefined) throw new Error(`no kind has the resource type ${owner.resourceType}`);
  return { ...owner, kind };
};

const answeringAsOf = (list: Route, past: Past): Route => {
  const { query = z.object({}) } = list;
  if (!(query instanceof z.ZodObject)) throw new Error(`the query of ${list.operationId} has no members`);
  const asOf = instant().optional().meta({ description: 'Shows the list at this time. Default: now.' });
  return {
    ...list,
    query: query.extend({ asOf }),
    handle: async (input) => {
      const { asOf: atMs, ...others } = input.query as RequestParams & { readonly asOf?: number };
      if (atMs === undefined) return list.handle({ ...input, query: others });
      const asked = { ...(input.params as RequestParams | undefined), ...others };
      return past(input.request, asked, isoTimestamp(atMs));
    },
  };
};

const listAsOf = async (
  reads: ListAsOfReads,
  of: ListOfKind,
  request: Pick<RequestContext, 'principal' | 'isClientGone'>,
  asked: RequestParams,
  at: string,
): Promise<Reply> => {
  const { kind, list } = of;
  const { customerId } = request.principal;
  const isWhole = list.whole !== undefined && asked[list.whole.parameter] === list.whole.value;
  refuseFilters(of, asked, isWhole);
  await expectOwner(reads, of, request, asked, at);
  expectKept(reads, list, at);
  const { skip, take } = pageOf(asked);
  const bounds = isWhole ? { skip, take } : { skip: 0, take: FOLDED_MAX, countMax: FOLDED_MAX + 1 };
  const begun = await streamsBegunBy(reads, of, customerId, asked, at, bounds).catch(refuseIfBehind);
  if (!isWhole && begun.total > FOLDED_MAX) throw tooMany(of, `more ${kind.noun}s`, FOLDED_MAX);
  if (begun.isLong) throw tooMany(of, 'more events of the campaign', SCANNED_MAX);
  const states = await momentOf(reads, request, at).statesOf(kind, begun.streams);
  const lives = states.map((state) => kind.live(state)).filter((live) => live !== undefined);
  const kept = lives.filter((live) => list.keeps(live, asked));
  if (!isWhole) kept.sort((one, other) => list.order(one, other));
  if (list.dataAtCursor !== undefined) {
    return { status: 200, data: await list.dataAtCursor(kept, asked, customerId, reads.cursors) };
  }
  const page = isWhole ? kept : kept.slice(skip, skip + take);
  const items = await Promise.resolve(list.shown(page, customerId)).catch(refuseIfBehind);
  const total = isWhole ? begun.total : kept.length;
  const pagination = { skip, take, total, hasMore: skip + items.length < total };
  if (list.data !== undefined) return { status: 200, data: list.data({ items, skip, take, total }) };
  return { status: 200, data: items, pagination };
};

/** One stream for all, so one fold suffices for any number. */
const sharedListAsOf = async (
  reads: HistoryReads,
  { kind, list }: { readonly kind: AuditedKind; readonly list: SharedListRead },
  ...[request, asked, at]: Parameters<Past>
): Promise<Reply> => {
  const then = momentOf(reads, request, at);
  const [state] = await then.statesOf(kind, [list.streamOf(then.customerId, asked)]);
  const live = kind.live(state);
  const all = live === undefined ? [] : await list.all(live, asked, then);
  const { skip, take } = pageOf(asked);
  const data = all.slice(skip, skip + take);
  const total = all.length;
  return { status: 200, data, pagination: { skip, take, total, hasMore: skip + data.length < total } };
};

/** @throws ApiError NOT_FOUND if the owner did not exist then */
const expectOwner = async (
  { historyFor }: ListAsOfReads,
  { owner }: ListOfKind,
  request: Pick<RequestContext, 'principal' | 'isClientGone'>,
  asked: RequestParams,
  at: string,
): Promise<void> => {
  if (owner?.mustBeThere !== true) return;
  const shown = String(asked[owner.parameter]);
  const [stream] = owner.kind.streamsOf(request.principal.customerId, shown, undefined);
  if (stream === undefined) throw notFound(owner.kind.noun);
  const { state } = await historyFor(request).stateAt(owner.kind, stream, { instant: at });
  if (owner.kind.live(state) === undefined) throw notFound(owner.kind.noun);
};

const PAGING = ['take', 'skip', 'limit', 'offset', 'cursor'];

/** @throws ApiError VALIDATION_ERROR for a filter: read models keep no past states to filter by */
const refuseFilters = ({ list, owner }: ListOfKind, asked: RequestParams, isWhole: boolean): void => {
  const answered = [...PAGING, owner?.parameter, ...(isWhole ? [list.whole?.parameter] : [])];
  const filter = parameterNames(list.route.query).find(
    (name) => asked[name] !== undefined && !answered.includes(name),
  );
  if (filter === undefined) return;
  throw new ApiError({
    code: 'VALIDATION_ERROR',
    message:
      `A list of the past has no filters: ask for it without ${filter}. ${list.narrower ?? ''}`.trimEnd(),
    field: filter,
  });
};

const DAY_MS = 24 * 60 * 60 * 1_000;

/** @throws ApiError VALIDATION_ERROR if a part of the list at that time was purged */
const expectKept = ({ clock }: ListAsOfReads, { keptDays }: ListRead, at: string): void => {
  if (keptDays === undefined || Date.parse(at) >= clock.now() - keptDays * DAY_MS) return;
  throw new ApiError({
    code: 'VALIDATION_ERROR',
    message: `asOf must be within the last ${keptDays} days: what this list showed before is not kept.`,
    field: 'asOf',
    details: { keptDays },
  });
};

const tooMany = ({ list: { narrower = '' } }: ListOfKind, what: string, limit: number): ApiError =>
  new ApiError({
    code: 'VALIDATION_ERROR',
    message:
      `There were ${what} by then than the ${limit} that are looked through for a list of the past. ${narrower}`.trimEnd(),
    field: 'asOf',
    details: { limit },
  });

interface Bounds {
  readonly skip: number;
  readonly take: number;
  /** More are not counted, and none is read. Default: no limit. */
  readonly countMax?: number;
}

/** Newest first; at the same time by id. Ids are numbers or have a fixed length. */
const newestFirst = 'order by e.occurred_at desc, length(e.stream) desc, e.stream desc';

interface BegunSql {
  readonly name: string;
  readonly before: string;
  readonly rows: string;
  readonly isLong: string;
  readonly values: readonly unknown[];
}

const begunSql = ({ kind: { resourceType }, owner }: ListOfKind, asked: RequestParams): BegunSql => {
  const short = { before: '', isLong: 'false' };
  const begun = `e.customer_id = $1 and e.resource_type = '${resourceType}' and e.revision = 0
    and e.occurred_at <= $3::timestamptz`;
  const given = owner === undefined ? undefined : asked[owner.parameter];
  if (owner === undefined || given === undefined) {
    return { ...short, name: resourceType, rows: `audit_entries e where ${begun}`, values: [] };
  }
  const { idOf = (id: unknown) => id } = owner;
  const values = [idOf(given)];
  if (owner.resourceType === 'ADVERTISER') {
    const rows = `audit_entries e where ${begun} and e.advertiser_id = $7`;
    return { ...short, name: `${resourceType}-of-advertiser`, rows, values };
  }
  // Everything that was ever in the campaign; the folded states exclude what had left it.
  const before = `
    events as materialized (
      select c.occurred_at, c.position from audit_campaigns c
      where c.customer_id = $1 and c.campaign_id = $7 and c.occurred_at <= $3::timestamptz
      order by c.occurred_at, c.position limit ${SCANNED_MAX + 1}),
    begun as materialized (
      select e.stream, min(e.occurred_at) as occurred_at
      from events c join audit_entries e
        on e.customer_id = $1 and e.occurred_at = c.occurred_at and e.position = c.position
      where e.resource_type = '${resourceType}' group by e.stream),`;
  const isLong = `(select count(*) > ${SCANNED_MAX} from events)`;
  return { name: `${resourceType}-of-campaign`, before, rows: 'begun e where true', isLong, values };
};

interface StreamPage {
  readonly streams: readonly string[];
  readonly total: number;
  readonly isLong: boolean;
}

const streamsBegunBy = async (
  { database, progress }: ResourceReads,
  of: ListOfKind,
  customerId: number,
  asked: RequestParams,
  at: string,
  { skip, take, countMax }: Bounds,
): Promise<StreamPage> => {
  const { name, before, rows, isLong, values } = begunSql(of, asked);
  return consistentRead<Freshness & StreamPage>({
    pool: boundTo(database, customerId),
    projection: 'audit',
    progress,
    query: {
      name: `list-as-of-${name}`,
      text: `with ${before} counted as materialized (
               select count(*)::int as total from (select from ${rows} limit $6::bigint) c)
             select ${freshnessColumns('f')}, (select total from counted) as total,
               ${isLong} as "isLong",
               array(select e.stream from ${rows}
                     and (select total from counted) < coalesce($6::bigint, ${COUNT_ALL})
                     ${newestFirst} limit $4::bigint offset $5::bigint) as streams
             from ${freshnessSql('$1', '$2')} f`,
      values: [customerId, 'audit', at, take, skip, countMax ?? null, ...values],
    },
  });
};
