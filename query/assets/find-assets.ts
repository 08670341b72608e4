import { assetResource, type AssetResource, type StoredAsset } from '../../domain/assets/resource.ts';
import { textArray } from '../../shared/postgres/binary-array.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import { freshnessColumns, freshnessSql, type Freshness } from '../../shared/follow-log/written-position.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import { ASSETS, type AssetReads } from './list.ts';

const assetIdSql = (shown: string): string =>
  `case when ${shown} ~ '^ast_[0-9a-f]{32}$' then substr(${shown}, 5)::uuid end`;

/** @param customer SQL of the account's id @param shownIds SQL of an array; entries may be invalid */
const readyAssetsSql = (customer: string, shownIds: string): string =>
  `(select coalesce('[' || string_agg(a.body, ',') || ']', '[]')
    from assets a
    where a.customer_id = ${customer} and a.status = 'READY'
      and a.id = any(array(select ${assetIdSql('q.id')} from unnest(${shownIds}) as q(id))))`;

/** @param waitMs default: as `consistentRead` @throws ReadModelBehindError */
const findAssets = async (
  { database, progress }: AssetReads,
  customerId: number,
  shownIds: readonly string[],
  waitMs?: number,
): Promise<readonly StoredAsset[]> => {
  const { items } = await consistentRead<Freshness & { readonly items: string }>({
    pool: boundTo(database, customerId),
    projection: ASSETS,
    progress,
    waitMs,
    query: {
      name: 'find-assets',
      text: `select ${freshnessColumns('f')}, ${readyAssetsSql('$1', '$3::text[]')} as items
             from ${freshnessSql('$1', '$2')} f`,
      values: [customerId, ASSETS, textArray(shownIds)],
    },
  });
  return JSON.parse(items) as readonly StoredAsset[];
};

export const shownAssets = (reads: AssetReads & { readonly baseUrl: () => string }) => {
  const shown = (asset: StoredAsset): AssetResource => assetResource(asset, reads.baseUrl());
  return {
    readModel: ASSETS,
    sql: readyAssetsSql,
    read: (found: string) => (JSON.parse(found) as readonly StoredAsset[]).map(shown),
    find: async (customerId: number, shownIds: readonly string[], waitMs?: number) =>
      (await findAssets(reads, customerId, shownIds, waitMs)).map(shown),
  };
};
