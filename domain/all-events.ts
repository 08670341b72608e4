import type { z } from 'zod';
import type { EventsOf } from './decision.ts';
import { accountAggregate } from './accounts/account.ts';
import { sessionAggregate } from './accounts/session.ts';
import { oauthGrantAggregate } from './accounts/oauth-grant.ts';
import { advertiserAggregate } from './advertisers/advertiser.ts';
import { agentAggregate } from './agents/agent.ts';
import { assetAggregate } from './assets/asset.ts';
import { audienceBatchEvents } from './audiences/events.ts';
import { AUDIENCE_BATCH, audienceAggregate } from './audiences/audience.ts';
import { campaignAggregate } from './campaigns/campaign.ts';
import { catalogContentEvents } from './catalogs/events.ts';
import { CATALOG_CONTENT, catalogAggregate } from './catalogs/catalog.ts';
import { CONVERSIONS, conversionEvents } from './conversions/events.ts';
import { creativeSessionAggregate } from './creative-sessions/creative-session.ts';
import { creativeNamesAggregate } from './creatives/creative-names.ts';
import { creativeAggregate } from './creatives/creative.ts';
import { engineConnectionAggregate } from './engines/engine-connection.ts';
import { eventSourceAggregate } from './event-sources/event-source.ts';
import { PERSONAL_DATA, personalDataEvents } from './personal-data/events.ts';
import { proposalRequestAggregate } from './proposals/proposal-request.ts';
import { proposalSlotAggregate } from './proposals/proposal-slot.ts';
import { sellerDeliveryAggregate } from './reporting/seller-delivery.ts';
import { resourceSyncAggregate } from './resource-syncs/resource-sync.ts';
import { sellerDirectoryAggregate } from './sellers/seller-directory.ts';
import { syndicationAggregate } from './syndication/syndication.ts';
import { taskAggregate } from './tasks/task.ts';
import { webhookSlotsAggregate } from './webhooks/subscription-slots.ts';
import { webhookSubscriptionAggregate } from './webhooks/webhook-subscription.ts';

export interface EventDefinition {
  readonly schemaVersion: number;
  readonly data: z.ZodType;
  /** Schema in the log, if it differs: personal data is encrypted there. */
  readonly stored?: z.ZodType;
  /** One for each version but the last: the first converts version 1 to 2. */
  readonly upcasters?: readonly ((data: never) => unknown)[];
}

type EventDefinitions = Readonly<Record<string, EventDefinition>>;

export interface StreamKind<
  Type extends string = string,
  Events extends EventDefinitions = EventDefinitions,
> {
  /** Stream names begin with it and a `-`. */
  readonly category: string;
  readonly namedAfter: string;
  readonly events: Events;
  /** Absent: the audit log leaves the stream out. */
  readonly audited?: AuditedStream<Type>;
}

/** Shared by all events of a stream, or kept until an event changes them. */
export type CarriedMember = 'advertiserId' | 'campaignIds' | 'part';

export interface AuditedStream<Type extends string = string> {
  readonly resourceType: Type;
  readonly carries: readonly CarriedMember[];
}

type StreamEvents<Events extends EventDefinitions> = Pick<StreamKind<string, Events>, 'category' | 'events'>;

/** A kind that the audit log shows. Its resource type is inferred as a literal: `AuditedResource` is their union. */
const audited = <const Type extends string, Events extends EventDefinitions>(
  { category, events }: StreamEvents<Events>,
  namedAfter: string,
  resourceType: Type,
  ...carries: readonly CarriedMember[]
): StreamKind<Type, Events> => ({ category, namedAfter, events, audited: { resourceType, carries } });

const unaudited = <Events extends EventDefinitions>(
  { category, events }: StreamEvents<Events>,
  namedAfter: string,
): StreamKind<never, Events> => ({
  category,
  namedAfter,
  events,
});

const ofAccount = (what: string): string => `<customerId>-<${what}>`;

/**
 * The audit log leaves out streams that serve others (members, catalog items, reserved names and slots, sync plans),
 * the directory of sellers, which belongs to no account, and the figures that sellers report.
 */
export const allEvents = [
  audited(accountAggregate, '<customerId>', 'ACCOUNT'),
  audited(sessionAggregate, ofAccount('sessionId'), 'SESSION'),
  audited(oauthGrantAggregate, ofAccount('grantId'), 'CONNECTED_APP'),
  audited(advertiserAggregate, ofAccount('advertiserId'), 'ADVERTISER'),
  audited(eventSourceAggregate, ofAccount('sourceId'), 'EVENT_SOURCE', 'advertiserId'),
  audited({ category: CONVERSIONS, events: conversionEvents }, ofAccount('sourceId'), 'CONVERSIONS'),
  audited(audienceAggregate, ofAccount('audienceId'), 'AUDIENCE', 'advertiserId'),
  unaudited({ category: AUDIENCE_BATCH, events: audienceBatchEvents }, ofAccount('batchId')),
  // Erasures belong to the account; they have no state to fold.
  audited({ category: PERSONAL_DATA, events: personalDataEvents }, '<customerId>', 'ACCOUNT'),
  audited(catalogAggregate, ofAccount('catalogId'), 'CATALOG', 'advertiserId'),
  unaudited(
    { category: CATALOG_CONTENT, events: catalogContentEvents },
    '<customerId>-<catalogId>-<contentHash>',
  ),
  unaudited(resourceSyncAggregate, ofAccount('commandId')),
  audited(taskAggregate, ofAccount('taskId'), 'TASK'),
  audited(agentAggregate, ofAccount('agentId'), 'ADCP_AGENT'),
  audited(syndicationAggregate, ofAccount('recordId'), 'SYNDICATION', 'advertiserId'),
  audited(campaignAggregate, ofAccount('campaignId'), 'CAMPAIGN', 'advertiserId'),
  audited(creativeAggregate, ofAccount('creativeId'), 'CREATIVE', 'advertiserId', 'campaignIds'),
  unaudited(creativeNamesAggregate, ofAccount('campaignId')),
  unaudited(sellerDirectoryAggregate, '0'),
  audited(engineConnectionAggregate, ofAccount('slotId'), 'ENGINE_CONNECTION', 'part'),
  audited(
    creativeSessionAggregate,
    ofAccount('sessionId'),
    'CREATIVE_SESSION',
    'advertiserId',
    'campaignIds',
  ),
  audited(assetAggregate, ofAccount('assetId'), 'ASSET', 'advertiserId'),
  audited(webhookSubscriptionAggregate, ofAccount('subscriptionId'), 'WEBHOOK_SUBSCRIPTION'),
  unaudited(webhookSlotsAggregate, '<customerId>'),
  audited(
    proposalRequestAggregate,
    ofAccount('executionId'),
    'PROPOSAL_REQUEST',
    'advertiserId',
    'campaignIds',
  ),
  unaudited(proposalSlotAggregate, '<customerId>'),
  unaudited(sellerDeliveryAggregate, '<customerId>-<sellerId>-<day>'),
] as const;

type EventIn<Events> = Events extends EventDefinitions ? EventsOf<Events> : never;

export type AnyEvent = EventIn<(typeof allEvents)[number]['events']>;
