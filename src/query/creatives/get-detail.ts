import type { Campaign } from '../../domain/campaigns/campaign-resource.ts';
import {
  creativeDetail,
  type CreativeDetail,
  type UsedAsset,
} from '../../domain/creatives/creative-detail-resource.ts';
import type { Seller } from '../../domain/sellers/seller-resource.ts';
import { assetIdsOf, type Creative } from '../../domain/creatives/creative-resource.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessOfBothSql,
  type Freshness,
} from '../../shared/read-your-writes/account-mark.ts';
import { consistentRead, ReadModelBehindError } from '../../shared/read-your-writes/consistent-read.ts';
import { CREATIVES, type CreativeReads } from './list-creatives.ts';

export interface DetailReads extends CreativeReads {
  /** The name of a creative's stream. */
  readonly streamOf: (customerId: number, creativeId: string) => string;
  readonly foldCreative: (customerId: number, creativeId: string) => Promise<Creative | undefined>;
  readonly foldCampaign: (customerId: number, campaignId: string) => Promise<Campaign | undefined>;
  /** Those sellers, with all that the directory held when the account last wrote. @throws ReadModelBehindError */
  readonly findSellers: (customerId: number, sellerIds: readonly number[]) => Promise<readonly Seller[]>;
  /** The directory as its stream says. */
  readonly foldSellers: () => Promise<readonly Seller[]>;
  /** What the library knows of the assets, as they are shown, with all that the account has written before. */
  readonly findAssets: (customerId: number, assetIds: readonly string[]) => Promise<readonly UsedAsset[]>;
}

interface Row extends Freshness {
  readonly body: string | null;
  readonly campaigns: string;
  readonly parked: boolean;
}

/**
 * A creative's detail: joined of what the read models know when it is asked for, each of them with all that the account
 * has written. None of them waits for another, and no order of events can make it wrong. Undefined when there is no
 * such creative.
 * @param creativeId UUID
 */
export const getDetail = async (
  reads: DetailReads,
  customerId: number,
  creativeId: string,
): Promise<CreativeDetail | undefined> => {
  const parts = await readParts(reads, customerId, creativeId).catch(async (error: unknown) => {
    if (!(error instanceof ReadModelBehindError)) throw error;
    return foldParts(reads, customerId, creativeId);
  });
  if (parts === undefined) return undefined;
  const assetIds = assetIdsOf(parts.creative);
  const [assets, sellers] = await Promise.all([
    assetIds.length === 0 ? [] : reads.findAssets(customerId, assetIds),
    sellersOf(reads, customerId, parts.creative),
  ]);
  return creativeDetail({ ...parts, assets, sellers });
};

const sellersOf = async (
  { findSellers, foldSellers }: DetailReads,
  customerId: number,
  { reviews = [] }: Creative,
): Promise<readonly Seller[]> => {
  if (reviews.length === 0) return [];
  const sellerIds = reviews.map(({ sellerId }) => sellerId);
  return findSellers(customerId, sellerIds).catch((error: unknown) => {
    if (!(error instanceof ReadModelBehindError)) throw error;
    return foldSellers();
  });
};

type Parts = { readonly creative: Creative; readonly campaigns: readonly Campaign[] };

const readParts = async (
  { database, progress, streamOf }: DetailReads,
  customerId: number,
  creativeId: string,
): Promise<Parts | undefined> => {
  const { body, campaigns, parked } = await consistentRead<Row>({
    pool: boundTo(database, customerId),
    projection: CREATIVES,
    progress,
    query: {
      name: 'get-creative-detail',
      text: `select ${freshnessColumns('f')},
               (select c.body from creatives c where c.customer_id = $1 and c.id = $4) as body,
               (select coalesce('[' || string_agg(a.body, ',') || ']', '[]')
                from creative_campaigns l join campaigns a on a.customer_id = $1 and a.id = l.campaign_id
                where l.customer_id = $1 and l.creative_id = $4) as campaigns,
               exists (select from parked_streams p where p.projection = $2 and p.stream = $5) as parked
             from ${freshnessOfBothSql('$1', '$2', '$3')} f`,
      values: [customerId, CREATIVES, 'campaigns', creativeId, streamOf(customerId, creativeId)],
    },
  });
  if (parked) throw new ReadModelBehindError(CREATIVES, 0);
  if (body === null) return undefined;
  return {
    creative: JSON.parse(body) as Creative,
    campaigns: JSON.parse(campaigns) as readonly Campaign[],
  };
};

const foldParts = async (
  { foldCreative, foldCampaign }: DetailReads,
  customerId: number,
  creativeId: string,
): Promise<Parts | undefined> => {
  const creative = await foldCreative(customerId, creativeId);
  if (creative === undefined) return undefined;
  const campaigns = await Promise.all(
    creative.campaignIds.map((campaignId) => foldCampaign(customerId, campaignId)),
  );
  return { creative, campaigns: campaigns.filter((campaign) => campaign !== undefined) };
};
