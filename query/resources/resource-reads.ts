import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { freshnessColumns, freshnessSql, type Freshness } from '../../shared/follow-log/written-position.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/follow-log/projection-progress.ts';

export interface ResourceReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
}

export interface ResourceTable {
  readonly readModel: string;
  readonly table: string;
  readonly body?: string;
}

export interface RowFilter {
  readonly name: string;
  readonly sql: (parameter: string) => string;
  readonly value: string | number;
  readonly enough?: number;
  /** With `enough`: prefers active rows, which reads all matching rows. */
  readonly areActiveFirst?: boolean;
}

/** Newest first. The filter must bound the result. @throws ReadModelBehindError */
export const findResources = async <State>(
  { database, progress }: ResourceReads,
  { readModel, table, body = 'r.body' }: ResourceTable,
  customerId: number,
  { name, sql, value, enough, areActiveFirst = false }: RowFilter,
): Promise<readonly State[]> => {
  const found = `
    select ${body} as body, r.created_at, r.id from ${table} r where r.customer_id = $1 and ${sql('$3')}
    ${enough !== undefined && areActiveFirst ? 'order by r.status' : ''} ${enough === undefined ? '' : `limit ${enough}`}`;
  const row = await consistentRead<Freshness & { readonly items: string }>({
    pool: boundTo(database, customerId),
    projection: readModel,
    progress,
    query: {
      name: `find-${table}-${name}`,
      text: `select ${freshnessColumns('f')}, found.items
             from ${freshnessSql('$1', '$2')} f, lateral (
               select coalesce('[' || string_agg(r.body, ',' order by r.created_at desc, r.id desc) || ']', '[]') as items
               from (${found}) r
             ) found`,
      values: [customerId, readModel, value],
    },
  });
  return JSON.parse(row.items) as readonly State[];
};

/** Also former owners. @throws ReadModelBehindError */
export const ownersOfKey = async (
  reads: ResourceReads,
  { readModel, table }: ResourceTable,
  customerId: number,
  key: string,
  most: number,
): Promise<readonly number[]> => {
  const body = `json_build_object('advertiserId', r.advertiser_id)::text`;
  const items = await findResources<{ readonly advertiserId: number }>(
    reads,
    { readModel, table, body },
    customerId,
    { name: `owners-of-${most}`, sql: (parameter) => `r.key = ${parameter}`, value: key, enough: most },
  );
  return items.map(({ advertiserId }) => advertiserId);
};
