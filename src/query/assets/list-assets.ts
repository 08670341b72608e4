import type { StoredAsset } from '../../domain/assets/asset-resource.ts';
import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessOfBothSql,
  freshnessSql,
  type Freshness,
} from '../../shared/read-your-writes/account-mark.ts';
import { consistentRead } from '../../shared/read-your-writes/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/read-your-writes/projection-progress.ts';
import { NO_UUID, pageKeysSql } from '../resources/page-keys.ts';

export interface AssetReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
}

export interface AssetFilters {
  readonly mediaKind?: string | undefined;
  readonly source?: string | undefined;
  /** Part of the name; case does not count. */
  readonly search?: string | undefined;
}

export const ASSETS = 'assets';

interface ListRow extends Freshness {
  readonly known: boolean;
  readonly items: string;
  readonly total: number;
}

/**
 * One page of an advertiser's library, newest first; undefined when there is no such advertiser. Totals are kept by the
 * projection; only a search looks at the library's names.
 * @throws ReadModelBehindError
 */
export const listAssets = async (
  { database, progress }: AssetReads,
  customerId: number,
  advertiserId: number,
  filters: AssetFilters,
  { skip, take }: { readonly skip: number; readonly take: number },
): Promise<{ readonly assets: readonly StoredAsset[]; readonly total: number } | undefined> => {
  const values: unknown[] = [customerId, ASSETS, 'advertisers', advertiserId, take, skip];
  const { where, counted, kind, variant } = conditionsOf(filters, (value) => `$${values.push(value)}`);
  const ready = `${where} and status = 'READY'`;
  const total =
    filters.search === undefined
      ? `(select coalesce(sum(count), 0) from asset_counts where ${counted})`
      : `(select count(*) from assets where ${ready})`;
  const keys = pageKeysSql({
    table: 'assets',
    where: ready,
    take: '$5',
    skip: '$6',
    total: 'counted.total',
    ...(filters.search === undefined && {
      blocks: { table: 'asset_blocks', advertiserId: '$4', kind, projection: '$2', noId: NO_UUID },
    }),
  });
  const row = await consistentRead<ListRow>({
    pool: boundTo(database, customerId),
    projection: ASSETS,
    progress,
    query: {
      name: `list-assets${variant}`,
      text: `with counted as materialized (select ${total}::float8 as total)
             select ${freshnessColumns('f')}, counted.total, page.items,
               exists (select from advertisers a where a.customer_id = $1 and a.id = $4) as known
             from ${freshnessOfBothSql('$1', '$2', '$3')} f, counted, lateral (
               select coalesce('[' || string_agg(a.body, ',' order by a.created_at desc, a.id desc) || ']', '[]')
                 as items
               from (${keys}) keys
               join assets a on a.customer_id = $1 and a.id = keys.id
             ) page`,
      values,
    },
  });
  if (!row.known) return undefined;
  return { assets: JSON.parse(row.items) as readonly StoredAsset[], total: row.total };
};

/** SQL of the filters, one text for each set of them, so that each gets its index. */
const conditionsOf = (
  { mediaKind, source, search }: AssetFilters,
  parameter: (value: unknown) => string,
): { readonly where: string; readonly counted: string; readonly kind: string; readonly variant: string } => {
  const conditions = ['customer_id = $1', 'advertiser_id = $4'];
  const counted = [...conditions];
  const kind: string[] = [];
  const variant: string[] = [];
  const add = (name: string, condition: string): void => {
    conditions.push(condition);
    variant.push(`-${name}`);
  };
  if (mediaKind !== undefined) {
    const value = parameter(mediaKind);
    add('kind', `media_kind = ${value}`);
    counted.push(`split_part(kind, '/', 1) = ${value}`);
    kind.push(value);
  }
  if (source !== undefined) {
    const value = parameter(source);
    add('source', `source = ${value}`);
    counted.push(`split_part(kind, '/', 2) = ${value}`);
    kind.push(`'/'`, value);
  }
  if (search !== undefined) add('search', `position(lower(${parameter(search)}::text) in lower(name)) > 0`);
  return {
    where: conditions.join(' and '),
    counted: counted.join(' and '),
    kind: kind.join(' || ') || `''`,
    variant: variant.join(''),
  };
};

/**
 * One asset of a library; undefined when there is none.
 * @param assetId UUID
 * @throws ReadModelBehindError
 */
export const getAsset = async (
  { database, progress }: AssetReads,
  customerId: number,
  advertiserId: number,
  assetId: string,
): Promise<StoredAsset | undefined> => {
  const { body } = await consistentRead<Freshness & { readonly body: string | null }>({
    pool: boundTo(database, customerId),
    projection: ASSETS,
    progress,
    query: {
      name: 'get-asset',
      text: `select ${freshnessColumns('f')},
               (select body from assets where customer_id = $1 and id = $3 and advertiser_id = $4
                and status = 'READY') as body
             from ${freshnessSql('$1', '$2')} f`,
      values: [customerId, ASSETS, assetId, advertiserId],
    },
  });
  return body === null ? undefined : (JSON.parse(body) as StoredAsset);
};
