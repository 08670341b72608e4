import type { Campaign } from '../../domain/campaigns/resource.ts';
import { campaignFold } from '../../domain/campaigns/campaign.ts';
import {
  creativeDetail,
  type CreativeDetail,
  type UsedAsset,
} from '../../domain/creatives/creative-detail.ts';
import { assetIdsOf, type Creative } from '../../domain/creatives/resource.ts';
import { creativeFold, creativeStream } from '../../domain/creatives/creative.ts';
import { sellerDirectoryFold, sellerDirectoryStream } from '../../domain/sellers/seller-directory.ts';
import type { SellerDirectory } from '../../domain/sellers/resource.ts';
import { loadState, loadStream } from '../../shared/aggregate/load-stream.ts';
import type { SnapshotStore } from '../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessWithInstallationSql,
  type Freshness,
  type ShownReadModel,
} from '../../shared/follow-log/written-position.ts';
import { consistentRead, ReadModelBehindError } from '../../shared/follow-log/consistent-read.ts';
import { directoryOf, SELLERS, sellersSql } from '../sellers/list.ts';
import { CREATIVES, type CreativeReads } from './list.ts';

export interface ShownAssets {
  readonly readModel: string;
  /** For `read`: at least these assets. @param customer SQL of the account's id @param shownIds SQL array */
  readonly sql: (customer: string, shownIds: string) => string;
  readonly read: (found: string) => readonly UsedAsset[];
  /** As a separate query. @param waitMs default: as `consistentRead` @throws ReadModelBehindError */
  readonly find: (
    customerId: number,
    shownIds: readonly string[],
    waitMs?: number,
  ) => Promise<readonly UsedAsset[]>;
}

export interface DetailReads extends CreativeReads {
  readonly assets: ShownAssets;
  readonly store: EventStore;
  readonly snapshots?: SnapshotStore;
}

interface Row extends Freshness {
  readonly body: string | null;
  readonly campaigns: string;
  readonly assets: string;
  readonly sellers: string;
  readonly parked: boolean;
}

/** Short, so that the request is answered in time. */
const SECOND_WAIT_MS = 300;

/**
 * Joins read models at the time of the read: none waits for another, and any order of events gives the same
 * result.
 * @param creativeId UUID
 * @returns undefined if it does not exist
 * @throws ReadModelBehindError if the library's read model is behind
 */
export const getDetail = async (
  reads: DetailReads,
  customerId: number,
  creativeId: string,
): Promise<CreativeDetail | undefined> => {
  let waitMs: number | undefined;
  try {
    const row = await readRow(reads, customerId, creativeId);
    if (!row.parked) return detailOf(reads, row);
  } catch (error) {
    if (!(error instanceof ReadModelBehindError)) throw error;
    waitMs = SECOND_WAIT_MS;
  }
  return foldDetail(reads, customerId, creativeId, waitMs);
};

const valuesSql = (path: string): string => `select v #>> '{}' from c, jsonb_path_query(c.doc, '${path}') v`;

const refersSql = (...paths: readonly string[]): string =>
  `(select ${paths.map((path) => `jsonb_path_exists(c.doc, '${path}')`).join(' or ')} from c)`;

/** Only read models that the creative refers to, according to its own (fresh) row, must be fresh. */
const readModelsOf = ({ assets }: DetailReads): readonly [string, ...ShownReadModel[]] => [
  '$2',
  `'campaigns'`,
  { name: `'${assets.readModel}'`, when: refersSql('$.slots[*].assetId', '$.carouselCards[*].assetId') },
  { name: `'${SELLERS}'`, when: refersSql('$.reviews[*]') },
];

/** One statement, so that all parts come from one snapshot. */
const detailQuery = (reads: DetailReads) => ({
  name: 'get-creative-detail',
  text: `with c as materialized (
           select body, body::jsonb as doc from creatives where customer_id = $1 and id = $3)
         select ${freshnessColumns('f')},
           (select body from c) as body,
           (select coalesce('[' || string_agg(a.body, ',') || ']', '[]')
            from creative_campaigns l join campaigns a on a.customer_id = $1 and a.id = l.campaign_id
            where l.customer_id = $1 and l.creative_id = $3) as campaigns,
           ${reads.assets.sql('$1', `array(${valuesSql('$.slots[*].assetId')} union ${valuesSql('$.carouselCards[*].assetId')})`)}
             as assets,
           ${sellersSql(`s.seller_id = any(array(${valuesSql('$.reviews[*].sellerId')})::int[])`)} as sellers,
           exists (select from parked_streams p where p.projection = $2 and p.stream = $4) as parked
         from ${freshnessWithInstallationSql('$1', readModelsOf(reads))} f`,
});

const readRow = (reads: DetailReads, customerId: number, creativeId: string): Promise<Row> =>
  consistentRead<Row>({
    pool: boundTo(reads.database, customerId),
    projection: CREATIVES,
    progress: reads.progress,
    query: {
      ...detailQuery(reads),
      values: [customerId, CREATIVES, creativeId, creativeStream(customerId, creativeId)],
    },
  });

const detailOf = ({ assets }: DetailReads, row: Row): CreativeDetail | undefined =>
  row.body === null
    ? undefined
    : creativeDetail({
        creative: JSON.parse(row.body) as Creative,
        campaigns: JSON.parse(row.campaigns) as readonly Campaign[],
        assets: assets.read(row.assets),
        sellers: directoryOf(row.sellers),
      });

/** For a read model that is behind, or a parked stream. */
const foldDetail = async (
  { assets, ...stores }: DetailReads,
  customerId: number,
  creativeId: string,
  waitMs: number | undefined,
): Promise<CreativeDetail | undefined> => {
  const creative = await loadState(stores, creativeFold, customerId, creativeId);
  if (creative === undefined) return undefined;
  const assetIds = assetIdsOf(creative);
  const [campaigns, used, sellers] = await Promise.all([
    Promise.all(creative.campaignIds.map((id) => loadState(stores, campaignFold, customerId, id))),
    assetIds.length === 0 ? [] : assets.find(customerId, assetIds, waitMs),
    creative.reviews === undefined ? [] : foldSellers(stores),
  ]);
  const known = campaigns.filter((campaign) => campaign !== undefined);
  return creativeDetail({ creative, campaigns: known, assets: used, sellers });
};

const foldSellers = async ({
  store,
  snapshots,
}: Pick<DetailReads, 'store' | 'snapshots'>): Promise<SellerDirectory> =>
  (await loadStream(store, sellerDirectoryFold, sellerDirectoryStream, { snapshots })).state;
