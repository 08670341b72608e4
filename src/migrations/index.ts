import type { Knex } from 'knex';
import { eventLog } from './0001-event-log.ts';
import { projections } from './0002-projections.ts';
import { accounts } from './0003-accounts.ts';
import { advertisers } from './0004-advertisers.ts';
import { idempotencyKeys } from './0005-idempotency-keys.ts';
import { access } from './0006-access.ts';
import { rateLimits } from './0007-rate-limits.ts';
import { snapshots } from './0008-snapshots.ts';
import { accountRows } from './0009-account-rows.ts';
import { eventSources } from './0010-event-sources.ts';
import { conversions } from './0011-conversions.ts';
import { agents } from './0012-agents.ts';
import { syndication } from './0013-syndication.ts';
import { audiences } from './0014-audiences.ts';
import { catalogs } from './0015-catalogs.ts';
import { tasks } from './0016-tasks.ts';
import { deliveries } from './0017-deliveries.ts';
import { syndicationAtScale } from './0018-syndication-at-scale.ts';
import { secretOwners } from './0019-secret-owners.ts';
import { credentialsRebuilt } from './0020-credentials-rebuilt.ts';
import { marksApart } from './0021-marks-apart.ts';
import { assets } from './0022-assets.ts';
import { campaigns } from './0023-campaigns.ts';
import { creatives } from './0024-creatives.ts';
import { syndicationHolders } from './0025-syndication-holders.ts';
import { engines } from './0026-engines.ts';
import { sellers } from './0027-sellers.ts';
import { creativeSessions } from './0028-creative-sessions.ts';
import { goneAssets } from './0029-gone-assets.ts';
import { feedsAndWhatIsLeft } from './0030-feeds-and-what-is-left.ts';
import { auditLog } from './0031-audit-log.ts';
import { sellerAccounts } from './0032-seller-accounts.ts';
import { readModelCopies } from './0033-read-model-copies.ts';
import { logCheckpoints } from './0034-log-checkpoints.ts';
import { personalData } from './0035-personal-data.ts';
import { listBlocks } from './0039-list-blocks.ts';
import { causesInLogOrder } from './0041-causes-in-log-order.ts';
import { moreListBlocks } from './0043-more-list-blocks.ts';
import { dueInOrder } from './0044-due-in-order.ts';
import { foundWithoutTheirOwner } from './0045-found-without-their-owner.ts';
import { lastEntryOfAStream } from './0046-last-entry-of-a-stream.ts';
import { pastOfListsAndCauses } from './0048-past-of-lists-and-causes.ts';
import { sourcesByKeyAndStatus } from './0051-sources-by-key-and-status.ts';

/** Structurally the kernel's `Migration`: this room imports nothing, the composition root brings them together. */
interface Migration {
  readonly name: string;
  readonly isStepwise?: boolean;
  up(knex: Knex): Promise<void>;
}

/** Every migration ever released, oldest first. Add at the end; never edit or reorder. */
export const migrations: readonly Migration[] = [
  eventLog,
  projections,
  accounts,
  advertisers,
  idempotencyKeys,
  access,
  rateLimits,
  snapshots,
  accountRows,
  eventSources,
  conversions,
  agents,
  syndication,
  audiences,
  catalogs,
  tasks,
  deliveries,
  syndicationAtScale,
  secretOwners,
  credentialsRebuilt,
  marksApart,
  assets,
  campaigns,
  creatives,
  syndicationHolders,
  engines,
  sellers,
  creativeSessions,
  goneAssets,
  feedsAndWhatIsLeft,
  auditLog,
  sellerAccounts,
  readModelCopies,
  logCheckpoints,
  personalData,
  listBlocks,
  causesInLogOrder,
  moreListBlocks,
  dueInOrder,
  foundWithoutTheirOwner,
  lastEntryOfAStream,
  pastOfListsAndCauses,
  sourcesByKeyAndStatus,
];
