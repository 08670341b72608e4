import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessOfBothSql,
  freshnessSql,
  keptMark,
  type Freshness,
} from '../../shared/read-your-writes/account-mark.ts';
import { consistentRead } from '../../shared/read-your-writes/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/read-your-writes/projection-progress.ts';

export interface ResourceReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
}

/** A read model of things that an advertiser has under keys of its own. */
export interface ResourceTable {
  readonly readModel: string;
  readonly table: string;
  /** What is read of it: a table expression of its columns. Default: the table as it is. */
  readonly rows?: string;
}

/** A condition on the rows `r` of a table; its value is the last parameter. */
export interface RowFilter {
  /** Names the statement. */
  readonly name: string;
  readonly sql: (parameter: string) => string;
  readonly value: string | number;
  /** How many are enough. Default: all. */
  readonly enough?: number;
  /** Of more than are enough: active ones before others. All that fit are looked at for it. Default: any of them. */
  readonly areActiveFirst?: boolean;
}

const jsonArray = (rows: string): string =>
  `coalesce('[' || string_agg(${rows}.body, ',' order by ${rows}.created_at desc, ${rows}.id desc) || ']', '[]')`;

export interface FoundResources<State> {
  readonly items: readonly State[];
  /** To keep them with (`AnswerCache`); undefined: not to be kept. */
  readonly mark: string | undefined;
}

/**
 * What of an account fits the filter, newest first, with all that the account has written before. For what is
 * bounded by itself.
 * @throws ReadModelBehindError when the read model has not reached that in time
 */
export const findResources = async <State>(
  { database, progress }: ResourceReads,
  { readModel, table, rows = table }: ResourceTable,
  customerId: number,
  { name, sql, value, enough, areActiveFirst = false }: RowFilter,
): Promise<FoundResources<State>> => {
  const fitting = `${rows} r where r.customer_id = $1 and ${sql('$3')}`;
  const found =
    enough === undefined
      ? fitting
      : `(select r.body, r.created_at, r.id from ${fitting}
          ${areActiveFirst ? 'order by r.status' : ''} limit ${enough}) r`;
  const row = await consistentRead<Freshness & { readonly items: string }>({
    pool: boundTo(database, customerId),
    projection: readModel,
    progress,
    query: {
      name: `find-${table}-${name}`,
      text: `select ${freshnessColumns('f')}, found.items
             from ${freshnessSql('$1', '$2')} f, lateral (
               select ${jsonArray('r')} as items from ${found}
             ) found`,
      values: [customerId, readModel, value],
    },
  });
  return { items: JSON.parse(row.items) as readonly State[], mark: keptMark(row) };
};

/**
 * Keys of an advertiser's active things: they are bounded by what a sync takes in.
 * @throws ReadModelBehindError
 */
export const activeKeys = async (
  reads: ResourceReads,
  { readModel, table }: ResourceTable,
  customerId: number,
  advertiserId: number,
): Promise<readonly string[]> => {
  const columns = 'customer_id, id, advertiser_id, status, created_at';
  const rows = `(select ${columns}, json_build_object('key', key)::text as body from ${table})`;
  const { items } = await findResources<{ readonly key: string }>(
    reads,
    { readModel, table, rows },
    customerId,
    {
      name: 'active-keys',
      sql: (parameter) => `r.advertiser_id = ${parameter} and r.status = 'ACTIVE'`,
      value: advertiserId,
    },
  );
  return items.map(({ key }) => key);
};

/**
 * Advertisers that have, or had, something under a key: so many at most.
 * @throws ReadModelBehindError
 */
export const ownersOfKey = async (
  reads: ResourceReads,
  { readModel, table }: ResourceTable,
  customerId: number,
  key: string,
  most: number,
): Promise<readonly number[]> => {
  const body = `json_build_object('advertiserId', advertiser_id)::text as body`;
  const rows = `(select customer_id, id, key, status, created_at, ${body} from ${table})`;
  const { items } = await findResources<{ readonly advertiserId: number }>(
    reads,
    { readModel, table, rows },
    customerId,
    { name: `owners-of-${most}`, sql: (parameter) => `r.key = ${parameter}`, value: key, enough: most },
  );
  return items.map(({ advertiserId }) => advertiserId);
};

export interface ResourcePage<State> {
  readonly items: readonly State[];
  readonly total: number;
}

interface ListRow extends Freshness {
  readonly known: boolean;
  readonly items: string;
  readonly total: number;
}

/**
 * One page of an advertiser's active things, newest first; undefined when there is no such advertiser. The total is
 * counted: a sync takes in no more than a few hundred.
 * @throws ReadModelBehindError
 */
export const listResources = async <State>(
  { database, progress }: ResourceReads,
  { readModel, table, rows = table }: ResourceTable,
  { customerId, advertiserId }: { readonly customerId: number; readonly advertiserId: number },
  { skip, take }: { readonly skip: number; readonly take: number },
  filter?: RowFilter,
): Promise<ResourcePage<State> | undefined> => {
  const where = `r.customer_id = $1 and r.advertiser_id = $4 and r.status = 'ACTIVE'
    ${filter === undefined ? '' : `and ${filter.sql('$7')}`}`;
  const { known, items, total } = await consistentRead<ListRow>({
    pool: boundTo(database, customerId),
    projection: readModel,
    progress,
    query: {
      name: `list-${table}${filter === undefined ? '' : `-${filter.name}`}`,
      text: `select ${freshnessColumns('f')},
               exists (select from advertisers a where a.customer_id = $1 and a.id = $4) as known,
               (select count(*)::int from ${rows} r where ${where}) as total,
               page.items
             from ${freshnessOfBothSql('$1', '$2', '$3')} f, lateral (
               select ${jsonArray('p')} as items
               from (select r.body, r.created_at, r.id from ${rows} r where ${where}
                     order by r.created_at desc, r.id desc limit $5 offset $6) p
             ) page`,
      values: [
        customerId,
        readModel,
        'advertisers',
        advertiserId,
        take,
        skip,
        ...(filter === undefined ? [] : [filter.value]),
      ],
    },
  });
  return known ? { items: JSON.parse(items) as readonly State[], total } : undefined;
};
