import pLimit from 'p-limit';
import { campaignStream } from '../../../domain/campaigns/campaign.ts';
import type { Creative } from '../../../domain/creatives/creative-resource.ts';
import { creativeStream } from '../../../domain/creatives/creative.ts';
import { isSubmissionOccasion } from '../../../domain/creatives/submission-occasion.ts';
import { sellsIn, type SellerDirectory } from '../../../domain/sellers/seller-resource.ts';
import { sleep } from '../../../shared/async/backoff.ts';
import { isoTimestamp } from '../../../shared/async/clock.ts';
import type { Logger } from 'pino';
import { loadAdvertiser } from '../../advertisers/load.ts';
import { loadCampaign, type CampaignStores } from '../../campaigns/load.ts';
import { executeOnCreative, loadCreative } from '../../creatives/run-on-creative.ts';
import { loadDirectory } from '../../sellers/directory.ts';
import { causesSince } from '../causation.ts';
import { submissionId, type Submission, type SubmissionList } from './submission-list.ts';

export interface SubmitLaunchedOptions {
  readonly stores: CampaignStores;
  readonly list: SubmissionList;
  /**
   * Begins to watch the list. What it returns resolves when something may be there that was not when the watching
   * began, or after that many milliseconds.
   */
  readonly watch: () => (ms: number) => Promise<void>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const ACTOR = 'worker:sellers';
const TAKEN_MAX = 50;
/** Creatives at once: each waits for the log most of the time. */
const AT_ONCE = 4;
const EVERY_MS = 500;
/** Between two looks at least. */
const GATHER_MS = 50;
const AFTER_FAILURE_MS = 2_000;

/**
 * Submits what is ready in campaigns that run to their sellers, until `signal`. The list says where to look and the
 * streams what is so; a command is named after the event that put its creative on the list, and submits only to whom
 * the creative never was. So many may do this at once, and each may end anywhere.
 */
export const submitLaunched = async (options: SubmitLaunchedOptions): Promise<void> => {
  const { watch, log, signal } = options;
  while (!signal.aborted) {
    try {
      const changed = watch();
      const taken = await submitOnce(options);
      if (taken === 0) await changed(EVERY_MS);
      await sleep(GATHER_MS, signal);
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ err: error }, 'creatives of launched campaigns cannot be submitted now; trying again');
      await sleep(AFTER_FAILURE_MS, signal);
    }
  }
};

/**
 * Does what is due now.
 * @returns how many creatives that were
 * @throws the first failure, when the others are done
 */
export const submitOnce = async ({
  stores,
  list,
  signal,
}: Pick<SubmitLaunchedOptions, 'stores' | 'list' | 'signal'>): Promise<number> => {
  const taken = await list.take(TAKEN_MAX);
  if (taken.length === 0) return 0;
  const directory = await loadDirectory(stores);
  const done: Submission[] = [];
  const limit = pLimit(AT_ONCE);
  const ends = await Promise.allSettled(
    taken.map((submission) =>
      limit(async () => {
        if (signal.aborted) return;
        await submit(stores, submission, directory);
        done.push(submission);
      }),
    ),
  );
  await list.done(done);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return taken.length;
};

const submit = async (
  stores: CampaignStores,
  { customerId, creativeId, position, since }: Submission,
  directory: SellerDirectory,
): Promise<void> => {
  const creative = await loadCreative(stores, customerId, creativeId);
  if (creative?.state !== 'ready' || !(await isLaunched(stores, creative))) return;
  const advertiser = await loadAdvertiser(stores, customerId, creative.advertiserId);
  if (advertiser?.status !== 'ACTIVE') return;
  const sellers = directory.filter((seller) => sellsIn(seller, advertiser.channels));
  const commandId = submissionId({ creativeId, position });
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
  // Refused is what has become a draft again, or was archived, at this moment.
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
