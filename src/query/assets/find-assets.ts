import type { StoredAsset } from '../../domain/assets/asset-resource.ts';
import { uuidArray } from '../../shared/postgres/binary-array.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessSql,
  type Freshness,
} from '../../shared/read-your-writes/account-mark.ts';
import { consistentRead } from '../../shared/read-your-writes/consistent-read.ts';
import type { AssetReads } from './list-assets.ts';

const projection = 'assets';

/**
 * Those of the assets that are in a library, in no order.
 * @param assetIds UUIDs
 * @throws ReadModelBehindError
 */
export const findAssets = async (
  { database, progress }: AssetReads,
  customerId: number,
  assetIds: readonly string[],
): Promise<readonly StoredAsset[]> => {
  const { items } = await consistentRead<Freshness & { readonly items: string }>({
    pool: boundTo(database, customerId),
    projection,
    progress,
    query: {
      name: 'find-assets',
      text: `select ${freshnessColumns('f')}, found.items
             from ${freshnessSql('$1', '$2')} f, lateral (
               select coalesce('[' || string_agg(a.body, ',') || ']', '[]') as items
               from unnest($3::uuid[]) as asked(id)
               join assets a on a.customer_id = $1 and a.id = asked.id and a.status = 'READY'
             ) found`,
      values: [customerId, projection, uuidArray(assetIds)],
    },
  });
  return JSON.parse(items) as readonly StoredAsset[];
};
