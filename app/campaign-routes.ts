import { assetLibrary, foldedAssets, shownAssets } from './asset-library.ts';
import { campaignWriteRoutes } from '../command/campaigns/routes.ts';
import { loadCampaign, type CampaignStores } from '../command/campaigns/load.ts';
import { campaignCreativeWriteRoutes } from '../command/creatives/campaign-routes.ts';
import { creativeReviewRoutes } from '../command/creatives/review-routes.ts';
import { loadDirectory } from '../command/sellers/directory.ts';
import { libraryCreativeWriteRoutes } from '../command/creatives/library-routes.ts';
import { loadCreative } from '../command/creatives/run-on-creative.ts';
import { creativeStream } from '../domain/creatives/creative.ts';
import type { ResourceReads } from '../query/resources/resource-reads.ts';
import { campaignReadRoutes } from '../query/campaigns/routes.ts';
import { findSubmission } from '../query/sellers/find-submission.ts';
import { creativeReadRoutes } from '../query/creatives/routes.ts';
import { behind } from '../query/resources/behind.ts';
import { sellerReadRoutes } from '../query/sellers/routes.ts';
import { submissionRoutes } from '../query/sellers/submission-routes.ts';
import { answeredFromMemory, type AnswerCache } from '../shared/http/answer-cache.ts';
import type { Route } from '../shared/http/route.ts';
import type { KeyRing } from '../shared/secrets/key-ring.ts';
import { sessionRoutes } from './session-routes.ts';

export interface CampaignParts extends CampaignStores, ResourceReads {
  /** How clients reach the service. */
  readonly baseUrl: () => string;
  /** Of the installation: they sign cursors. */
  readonly keys: () => Promise<KeyRing>;
  readonly answers: AnswerCache;
}

/** Campaigns, the creatives in them and in libraries, and the sessions that creatives are made in. */
export const campaignRoutes = (parts: CampaignParts): readonly Route[] => {
  const library = assetLibrary(parts);
  const writes = { ...parts, library };
  const foldCampaign = (customerId: number, campaignId: string) =>
    loadCampaign(parts, customerId, campaignId);
  return [
    ...campaignWriteRoutes(parts),
    ...answeredFromMemory(parts.answers, campaignReadRoutes(parts)),
    ...campaignCreativeWriteRoutes(writes),
    ...libraryCreativeWriteRoutes(writes),
    ...creativeReviewRoutes({
      ...parts,
      findSubmission: (sellerAccount, submission) =>
        findSubmission(parts, sellerAccount, submission).catch(behind),
    }),
    ...sellerReadRoutes(parts),
    ...submissionRoutes({
      ...parts,
      foldCreative: (customerId, creativeId) => loadCreative(parts, customerId, creativeId),
      foldAssets: foldedAssets(parts),
    }),
    ...answeredFromMemory(
      parts.answers,
      creativeReadRoutes({
        ...parts,
        streamOf: creativeStream,
        foldCreative: (customerId, creativeId) => loadCreative(parts, customerId, creativeId),
        foldCampaign,
        assets: shownAssets(parts),
        foldSellers: () => loadDirectory(parts),
      }),
    ),
    ...sessionRoutes(writes),
  ];
};
