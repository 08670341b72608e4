import { z } from 'zod';
import { campaignStream } from '../../../domain/campaigns/campaign.ts';
import type { Creative } from '../../../domain/creatives/resource.ts';
import { creativeStream } from '../../../domain/creatives/creative.ts';
import {
  CHANGED_CREATIVE,
  LAUNCHED_CAMPAIGN,
  SUBMISSION,
  isSubmissionOccasion,
  submissionName,
} from '../../../domain/creatives/work.ts';
import { sellsIn } from '../../../domain/sellers/resource.ts';
import { derivedId } from '../../../shared/aggregate/ids.ts';
import { isoTimestamp } from '../../../shared/async/clock.ts';
import type { WorkKind } from '../../../shared/work-list/run-work.ts';
import { DONE, type WorkEntry, type WorkResult } from '../../../shared/work-list/work-list.ts';
import { loadAdvertiser } from '../../advertisers/handler.ts';
import { loadCampaign, type CampaignStores } from '../../campaigns/handler.ts';
import { executeOnCreative, loadCreative } from '../../creatives/handler.ts';
import { loadDirectory } from '../../sellers/handler.ts';
import { causesSince } from '../causes-since.ts';

const ACTOR = 'worker:sellers';

/**
 * The list names candidates, the streams decide. The command id derives from the listing event, and sellers
 * that have the creative are skipped: several processes may run this, and each may be killed at any time.
 */
export const submissions = (
  stores: CampaignStores,
  listLaunchedCreatives: () => Promise<void>,
): WorkKind => ({
  name: SUBMISSION,
  madeOf: [LAUNCHED_CAMPAIGN, CHANGED_CREATIVE],
  // Each mostly waits for the log.
  concurrency: 4,
  perAccountMax: 4,
  attemptsMax: Infinity,
  prepare: async () => {
    await listLaunchedCreatives();
    return true;
  },
  handle: (entry) => submit(stores, entry),
});

const Occasions = z.object({ since: z.string() });

const submit = async (
  stores: CampaignStores,
  { customerId, key: creativeId, revision: position, data }: WorkEntry,
): Promise<WorkResult> => {
  const { since } = Occasions.parse(data);
  const creative = await loadCreative(stores, customerId, creativeId);
  if (creative?.state !== 'ready' || !(await isLaunched(stores, creative))) return DONE;
  const advertiser = await loadAdvertiser(stores, customerId, creative.advertiserId);
  if (advertiser?.status !== 'ACTIVE') return DONE;
  const directory = await loadDirectory(stores);
  const sellers = directory.filter((seller) => sellsIn(seller, advertiser.channels));
  // Derived from the last occasion, so repeated submissions for it are one command.
  const commandId = derivedId(creativeId, submissionName(position));
  const streams = [
    ...creative.campaignIds.map((id) => campaignStream(customerId, id)),
    creativeStream(customerId, creativeId),
  ];
  const { correlationId, alsoCausedBy } = await causesSince(stores.store, {
    streams,
    isNew: (event) => event.position >= since,
    named: position,
    isOccasion: isSubmissionOccasion,
    isAnswer: ({ type }) => type === 'CreativeSubmitted',
  });
  const cause = correlationId === undefined ? {} : { correlationId };
  // The command refuses a creative that was archived or changed to a draft meanwhile.
  await executeOnCreative(
    stores,
    creativeId,
    {
      type: 'SubmitCreative',
      now: isoTimestamp(stores.clock.now()),
      advertiserIsArchived: false,
      sellerIds: sellers.map(({ sellerId }) => sellerId),
      onlyNew: true,
      alsoCausedBy,
    },
    { context: { commandId, customerId, actor: ACTOR, requestId: commandId, ...cause } },
  );
  return DONE;
};

const isLaunched = async (
  stores: CampaignStores,
  { customerId, campaignIds }: Creative,
): Promise<boolean> => {
  for (const campaignId of campaignIds) {
    if ((await loadCampaign(stores, customerId, campaignId))?.phase === 'active') return true;
  }
  return false;
};
