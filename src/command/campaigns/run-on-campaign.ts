import { campaignEvents } from '../../domain/campaigns/campaign-events.ts';
import type { Campaign } from '../../domain/campaigns/campaign-resource.ts';
import {
  campaignDecider,
  campaignStream,
  type CampaignCommand,
  type CampaignRefusal,
  type CampaignState,
} from '../../domain/campaigns/campaign.ts';
import type { Clock } from '../../shared/clock.ts';
import type { CommandContext } from '../../shared/command/command-context.ts';
import { executeCommand, loadState, type Outcome } from '../../shared/command/execute-command.ts';
import type { SnapshotStore } from '../../shared/command/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { RequestContext } from '../../shared/http/route.ts';

export interface CampaignStores {
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  readonly clock: Clock;
}

const aggregate = { decider: campaignDecider, events: campaignEvents };

/** A command of a request on one campaign. */
export const runOnCampaign = (
  { store, snapshots }: CampaignStores,
  campaignId: string,
  command: CampaignCommand,
  { commandId, requestId, isAbandoned, hasRunBefore, principal: { customerId, actor } }: RequestContext,
  isNew = false,
): Promise<Outcome<CampaignState, CampaignRefusal>> =>
  executeCommand(store, aggregate, {
    stream: campaignStream(customerId, campaignId),
    command,
    context: { commandId, customerId, actor, requestId },
    isNew,
    isAbandoned,
    snapshots,
    hasRunBefore,
  });

/** The same for a command that no request asks for. */
export const completeCampaign = async (
  store: EventStore,
  campaignId: string,
  now: string,
  context: CommandContext,
): Promise<void> => {
  const stream = campaignStream(context.customerId, campaignId);
  // Refused is what has been archived meanwhile. A flight ends below an archived advertiser, too.
  const command = { type: 'CompleteCampaign', now, advertiserIsArchived: false } as const;
  await executeCommand(store, aggregate, { stream, command, context });
};

/** A campaign as its stream says now; undefined when there is none. */
export const loadCampaign = async (
  { store, snapshots }: Pick<CampaignStores, 'store' | 'snapshots'>,
  customerId: number,
  campaignId: string,
): Promise<Campaign | undefined> => {
  const state = await loadState(store, aggregate, campaignStream(customerId, campaignId), snapshots);
  return state.phase === 'none' ? undefined : state;
};
