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
} from '../../shared/follow-log/account-mark.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ResourceReads } from './resource-reads.ts';

/** A list of an account's rows, or of an advertiser's, newest first and the higher id first among equals. */
export interface List {
  readonly readModel: string;
  /** Has the columns `customer_id`, `id`, `body` and those that it is filtered and ordered by. */
  readonly table: string;
  readonly at: 'created_at' | 'updated_at';
  /**
   * How many rows there are of each kind, as their projection keeps it: in columns that are named as the rows'. Absent: they
   * are counted.
   */
  readonly counts?: string;
  /** SQL condition that every listed row meets; an index has no other rows. Default: all rows are listed. */
  readonly listed?: string;
  /** SQL of what is shown of a row `r`. Default: its `body`. */
  readonly body?: string;
  /** Finds a page's ids where the counts have all filters. Default: `pageKeys`. */
  readonly filteredKeys?: (rows: Knex.QueryBuilder, counts: Knex.QueryBuilder) => Knex.Raw;
}

type Where = (query: Knex.QueryBuilder) => Knex.QueryBuilder;

/** What is asked for. Each set of filters is a statement of its own, so that each gets its index. */
export interface Filter {
  /** Names its parameter, and the filter among those of its list. */
  readonly name: string;
  readonly value?: string | number | boolean;
  readonly rows: Where;
  /** Absent: the counts do not have it, so the rows that fit are counted. */
  readonly counts?: Where;
}

/** Rows with that value in a column, which the counts have too. Without a value: no filter. */
export const equal = (column: string, value: Filter['value']): readonly Filter[] => {
  if (value === undefined) return [];
  const where: Where = (query) => query.where(column, column);
  return [{ name: column, value, rows: where, counts: where }];
};

/** The same filters of columns that the counts do not have. */
export const uncounted = (filters: readonly Filter[]): readonly Filter[] =>
  filters.map(({ counts: _none, ...filter }) => filter);

/** Rows with that text in a column; case does not count. All rows of the list are looked at. */
export const contains = (column: string, value: string | undefined): readonly Filter[] => {
  if (value === undefined) return [];
  const rows: Where = (query) =>
    query.whereRaw(`position(lower(?::text) in lower(${column})) > 0`, `in-${column}`);
  return [{ name: `in-${column}`, value, rows }];
};

/**
 * No page has more. Without this bound the planner expects a part of the list that grows with it: then it takes a plan
 * for any page to be dearer than one for this very page, and plans each time, which takes longer than all the rest.
 */
const TAKE_MAX = 1_000;

/**
 * SQL of the ids of one page, counted from the nearer end of the list: of the two scans one has a limit of 0 and does
 * nothing. So the last pages cost what the first ones do, and one in the middle half an index scan.
 * @param isWanted SQL: false where the page is found in another way
 */
export const pageKeys = (rows: Knex.QueryBuilder, at: List['at'], isWanted = 'true'): Knex.Raw => {
  const [take, skip, total] = [':take::bigint', ':skip::bigint', 'counted.total::bigint'];
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
    { newest: inOrder('desc'), oldest: inOrder('asc'), take: 'take', skip: 'skip' },
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
  /** False: there is no such advertiser. */
  readonly known: boolean;
  /** The rows' bodies as one JSON text, an array. */
  readonly items: string;
  readonly total: number;
}

/** Whose list it is: the account's, or that of one of its advertisers. */
interface Owner {
  readonly customerId: number;
  readonly advertiserId?: number;
}

/** Where a page begins, and how many rows it has at most. */
export interface Page {
  readonly skip: number;
  readonly take: number;
}

/**
 * One page of a list, with all that the account has written before. The page is found in an index alone and only its
 * bodies are fetched. Totals are kept by the projection; only filters that no count knows of have rows counted.
 * @throws ReadModelBehindError
 */
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
