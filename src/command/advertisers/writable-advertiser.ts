import type { AdvertiserResource } from '../../domain/advertisers/advertiser-resource.ts';
import type { SnapshotStore } from '../../shared/command/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { advertiserRefused } from './advertiser-refusals.ts';
import { loadAdvertiser } from './routes.ts';

/**
 * An advertiser below which something may be written: its stream is asked, so that no read model has to be up to date.
 * @throws ApiError NOT_FOUND when the account has no such advertiser, CONFLICT when it is archived (decisions.md 3)
 */
export const writableAdvertiser = async (
  stores: { readonly store: EventStore; readonly snapshots: SnapshotStore },
  customerId: number,
  advertiserId: number,
): Promise<AdvertiserResource> => {
  const advertiser = await loadAdvertiser(stores, customerId, advertiserId);
  if (advertiser === undefined) throw advertiserRefused({ reason: 'not-found' });
  if (advertiser.status === 'ARCHIVED') throw advertiserRefused({ reason: 'archived' });
  return advertiser;
};
