import type { Knex } from 'knex';
import {
  builtStatement,
  sql,
  statementName,
  type BuiltStatement,
} from '../../shared/postgres/build-statement.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessOfBothSql,
  freshnessSql,
  type Freshness,
} from '../../shared/follow-log/written-position.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ResourceReads } from './resource-reads.ts';

/** By time and id, both descending. */
export interface List {
  readonly readModel: string;
  /** Has the columns `customer_id`, `id`, `body` and those of filters and order. */
  readonly table: string;
  readonly at: 'created_at' | 'updated_at';
  /** The projection's counts, in columns with the rows' names. Absent: the rows are counted. */
  readonly counts?: string;
  /** SQL condition on listed rows, which their indexes have, too. Default: all rows. */
  readonly listed?: string;
  readonly body?: string;
  /** Finds a page's ids if the counts support all filters. Default: `pageKeys`. */
  readonly filteredKeys?: (rows: Knex.QueryBuilder, counts: Knex.QueryBuilder) => Knex.Raw;
}

type Where = (query: Knex.QueryBuilder) => Knex.QueryBuilder;

/** Each set of filters is a separate statement, with its own index. */
export interface Filter {
  /** Names the parameter, and the filter in the statement's name. */
  readonly name: string;
  readonly value?: string | number | boolean;
  readonly rows: Where;
  /** Absent: the counts do not support the filter, so matching rows are counted. */
  readonly counts?: Where;
}

/** The counts have the column, too. Undefined: no filter. */
export const equal = (column: string, value: Filter['value']): readonly Filter[] => {
  if (value === undefined) return [];
  const where: Where = (query) => query.where(column, column);
  return [{ name: column, value, rows: where, counts: where }];
};

export const uncounted = (filters: readonly Filter[]): readonly Filter[] =>
  filters.map(({ counts: _none, ...filter }) => filter);

/** Case-insensitive. Scans all rows of the list. */
export const contains = (column: string, value: string | undefined): readonly Filter[] => {
  if (value === undefined) return [];
  const rows: Where = (query) =>
    query.whereRaw(`position(lower(?::text) in lower(${column})) > 0`, `in-${column}`);
  return [{ name: `in-${column}`, value, rows }];
};

/**
 * This, and `skip` and `take` as columns of `counted`, which hides them from the planner: otherwise a plan for one page
 * seems so much cheaper than a generic one that every request is planned, which takes longer than the page.
 */
const TAKE_MAX = 1_000;

/**
 * Counts from the nearer end; the other scan has the limit 0. The last page costs as much as the first.
 * Reads `total`, `skip` and `take` of a row `counted` of the statement.
 * @param isWanted SQL; false if the page is found in another way
 */
export const pageKeys = (rows: Knex.QueryBuilder, at: List['at'], isWanted = 'true'): Knex.Raw => {
  const [take, skip, total] = ['counted.take', 'counted.skip', 'counted.total::bigint'];
  const isNearStart = `${skip} <= ${total} / 2`;
  const returned = `least(${take}, greatest(${total} - ${skip}, 0))`;
  const inOrder = (order: 'asc' | 'desc'): Knex.QueryBuilder =>
    rows
      .clone()
      .select('id')
      .orderBy([
        { column: at, order },
        { column: 'id', order },
      ]);
  return sql.raw(
    `select id from (
       (:newest limit case when ${isWanted} and ${isNearStart} then ${returned} else 0 end offset ${skip})
       union all
       (:oldest limit case when ${isWanted} and not ${isNearStart} then ${returned} else 0 end
        offset greatest(${total} - ${skip} - ${take}, 0))) page
     limit ${TAKE_MAX}`,
    { newest: inOrder('desc'), oldest: inOrder('asc') },
  );
};

interface BuiltList extends BuiltStatement {
  readonly planOnce: boolean;
}

const built = new Map<string, BuiltList>();

const buildList = (list: List, filters: readonly Filter[], isOfAdvertiser: boolean): BuiltList => {
  const { readModel, table, at, body = 'r.body' } = list;
  const where = (from: string, of: 'rows' | 'counts'): Knex.QueryBuilder =>
    filters.reduce(
      (query, filter) => filter[of]?.(query) ?? query,
      sql(from).where({
        customer_id: 'customerId',
        ...(isOfAdvertiser && { advertiser_id: 'advertiserId' }),
      }),
    );
  const rows = where(table, 'rows').whereRaw(list.listed ?? 'true');
  const isCounted = list.counts !== undefined && filters.every(({ counts }) => counts !== undefined);
  const counts = isCounted ? where(list.counts, 'counts') : undefined;
  const total =
    counts?.clone().select(sql.raw('coalesce(sum(count), 0)::float8 as total')) ??
    rows.clone().select(sql.raw('count(*)::float8 as total'));
  total.select(sql.raw(':skip::bigint as skip, :take::bigint as take', { skip: 'skip', take: 'take' }));
  const ownKeys = filters.length > 0 && counts !== undefined ? list.filteredKeys?.(rows, counts) : undefined;
  const freshness = isOfAdvertiser
    ? freshnessOfBothSql(':customerId', `'${readModel}'`, `'advertisers'`)
    : freshnessSql(':customerId', `'${readModel}'`);
  const isKnown = isOfAdvertiser
    ? 'exists (select from advertisers a where a.customer_id = :customerId and a.id = :advertiserId)'
    : 'true';
  const statement = builtStatement(
    sql.raw(
      `with counted as materialized (:total)
       select ${freshnessColumns('f')}, counted.total, page.items, ${isKnown} as known
       from ${freshness} f, counted, lateral (
         select coalesce('[' || string_agg(${body}, ',' order by r.${at} desc, r.id desc) || ']', '[]') as items
         from (:keys) keys
         join ${table} r on r.customer_id = :customerId and r.id = keys.id
       ) page`,
      {
        total,
        keys: ownKeys ?? pageKeys(rows, at),
        customerId: 'customerId',
        advertiserId: 'advertiserId',
      },
    ),
  );
  return { ...statement, planOnce: ownKeys !== undefined };
};

export interface FoundPage {
  readonly known: boolean;
  readonly items: string;
  readonly total: number;
}

interface Owner {
  readonly customerId: number;
  readonly advertiserId?: number;
}

export interface Page {
  readonly skip: number;
  readonly take: number;
}

/** Reads only the page's bodies. Counts rows only for filters without counts. @throws ReadModelBehindError */
export const listPage = async (
  { database, progress }: ResourceReads,
  list: List,
  of: Owner,
  filters: readonly Filter[],
  page: Page,
): Promise<FoundPage> => {
  const isOfAdvertiser = of.advertiserId !== undefined;
  const variant = [isOfAdvertiser ? '-of-advertiser' : '', ...filters.map(({ name }) => `-${name}`)].join('');
  const name = `list-${list.table}${variant}`;
  let statement = built.get(name);
  if (statement === undefined) built.set(name, (statement = buildList(list, filters, isOfAdvertiser)));
  const given: Readonly<Record<string, unknown>> = {
    ...of,
    ...page,
    ...Object.fromEntries(filters.map((filter) => [filter.name, filter.value])),
  };
  return consistentRead<Freshness & FoundPage>({
    pool: boundTo(database, of.customerId),
    projection: list.readModel,
    progress,
    query: {
      name: statementName(`list-${list.table}`, variant),
      text: statement.text,
      values: statement.parameters.map((parameter) => given[parameter]),
      planOnce: statement.planOnce,
    },
  });
};
