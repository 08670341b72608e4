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
  /**
   * SQL of a JSON text for `read`: at least those of the assets that are in the library.
   * @param customer SQL parameter of the account's id
   * @param shownIds SQL of an array of shown ids; entries may be invalid
   */
  readonly sql: (customer: string, shownIds: string) => string;
  readonly read: (found: string) => readonly UsedAsset[];
  /**
   * The same as a separate query, consistent with the account's writes.
   * @param waitMs longest wait for the read model in ms; default: that of `consistentRead`
   * @throws ReadModelBehindError
   */
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

/** Longest second wait of a read, in ms: the request must be answered in time. */
const SECOND_WAIT_MS = 300;

/**
 * Joins a creative's detail from several read models at the time of the read. Each must have applied the writes of
 * the account and the installation. No read model waits for another, and any order of events gives the same result.
 * @param creativeId UUID
 * @returns undefined if the creative does not exist
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

/** The read models that must be fresh: only those that the creative refers to, according to its own (fresh) row. */
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

/** Folds the streams, for when a read model is behind or the creative's stream is parked. */
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

/** Without events the directory holds the sellers that are built in. */
const foldSellers = async ({
  store,
  snapshots,
}: Pick<DetailReads, 'store' | 'snapshots'>): Promise<SellerDirectory> =>
  (await loadStream(store, sellerDirectoryFold, sellerDirectoryStream, { snapshots })).state;
