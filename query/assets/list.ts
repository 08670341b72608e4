import type { StoredAsset } from '../../domain/assets/resource.ts';
import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { freshnessColumns, freshnessSql, type Freshness } from '../../shared/follow-log/written-position.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import { contains, equal, listPage, type List, type Page } from '../resources/list-page.ts';

export interface AssetReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
}

export interface AssetFilters {
  readonly mediaKind?: string | undefined;
  readonly source?: string | undefined;
  readonly search?: string | undefined;
}

export const ASSETS = 'assets';

const library: List = {
  readModel: ASSETS,
  table: 'assets',
  at: 'created_at',
  counts: 'asset_counts',
  listed: `status = 'READY'`,
};

/** @returns undefined if the advertiser does not exist @throws ReadModelBehindError */
export const listAssets = async (
  reads: AssetReads,
  customerId: number,
  advertiserId: number,
  { mediaKind, source, search }: AssetFilters,
  page: Page,
): Promise<{ readonly assets: readonly StoredAsset[]; readonly total: number } | undefined> => {
  const filters = [
    ...equal('media_kind', mediaKind),
    ...equal('source', source),
    ...contains('name', search),
  ];
  const { known, items, total } = await listPage(reads, library, { customerId, advertiserId }, filters, page);
  return known ? { assets: JSON.parse(items) as readonly StoredAsset[], total } : undefined;
};

/** @param assetId UUID @returns undefined if the library does not contain it @throws ReadModelBehindError */
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
