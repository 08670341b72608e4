import { campaignAggregate } from '../../domain/campaigns/campaign.ts';
import type { Clock } from '../../shared/async/clock.ts';
import { handlerFor } from '../../shared/aggregate/handler-for.ts';
import type { SnapshotStore } from '../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { campaignRefused } from './campaign-refusals.ts';

export interface CampaignStores {
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  readonly clock: Clock;
}

export const {
  run: runOnCampaign,
  create: createNewCampaign,
  execute: executeOnCampaign,
  load: loadCampaign,
} = handlerFor(campaignAggregate, campaignRefused);
