import type { z } from 'zod';
import { accountEvents } from './accounts/account-events.ts';
import { ACCOUNT } from './accounts/account.ts';
import { advertiserEvents } from './advertisers/advertiser-events.ts';
import { ADVERTISER } from './advertisers/advertiser.ts';
import { agentEvents } from './agents/agent-events.ts';
import { AGENT } from './agents/agent.ts';
import { assetEvents } from './assets/asset-events.ts';
import { ASSET } from './assets/asset.ts';
import { audienceBatchEvents, audienceEvents } from './audiences/audience-events.ts';
import { AUDIENCE, AUDIENCE_BATCH } from './audiences/audience.ts';
import { campaignEvents } from './campaigns/campaign-events.ts';
import { CAMPAIGN } from './campaigns/campaign.ts';
import { catalogContentEvents, catalogEvents } from './catalogs/catalog-events.ts';
import { CATALOG, CATALOG_CONTENT } from './catalogs/catalog.ts';
import { CONVERSIONS, conversionEvents } from './conversions/conversion-events.ts';
import { creativeSessionEvents } from './creative-sessions/creative-session-events.ts';
import { CREATIVE_SESSION } from './creative-sessions/creative-session.ts';
import { creativeEvents } from './creatives/creative-events.ts';
import { creativeNameEvents } from './creatives/creative-name-events.ts';
import { CREATIVE_NAMES } from './creatives/creative-names.ts';
import { CREATIVE } from './creatives/creative.ts';
import { engineConnectionEvents } from './engines/engine-connection-events.ts';
import { ENGINE_CONNECTION } from './engines/engine-connection.ts';
import { eventSourceEvents } from './event-sources/event-source-events.ts';
import { EVENT_SOURCE } from './event-sources/event-source.ts';
import { PERSONAL_DATA, personalDataEvents } from './personal-data/personal-data-events.ts';
import { RESOURCE_SYNC, resourceSyncEvents } from './resource-syncs/resource-sync.ts';
import { sellerEvents } from './sellers/seller-events.ts';
import { SELLERS } from './sellers/seller-directory.ts';
import { syndicationEvents } from './syndication/syndication-events.ts';
import { SYNDICATION } from './syndication/syndication.ts';
import { TASK, taskEvents } from './tasks/task.ts';

/** An event type: the schema of the version that is written now, and how older ones become it. */
export interface EventDefinition {
  /** From 1. */
  readonly schemaVersion: number;
  /** Of its data. */
  readonly data: z.ZodType;
  /** The same as the log has it, where that differs: personal parts are sealed. */
  readonly stored?: z.ZodType;
  /** One for each version but the last: the first raises version 1 to 2. */
  readonly upcasters?: readonly ((data: never) => unknown)[];
}

/** Streams of one kind. */
export interface StreamKind {
  /** What their names begin with, up to the first `-`. */
  readonly category: string;
  /** The rest of their names. */
  readonly namedAfter: string;
  readonly events: Readonly<Record<string, EventDefinition>>;
}

const ofAccount = (what: string): string => `<customerId>-<${what}>`;

/** Every event that can be in the log. A type belongs to one kind of stream. */
export const allEvents: readonly StreamKind[] = [
  { category: ACCOUNT, namedAfter: '<customerId>', events: accountEvents },
  { category: ADVERTISER, namedAfter: ofAccount('advertiserId'), events: advertiserEvents },
  { category: EVENT_SOURCE, namedAfter: ofAccount('sourceId'), events: eventSourceEvents },
  { category: CONVERSIONS, namedAfter: ofAccount('sourceId'), events: conversionEvents },
  { category: AUDIENCE, namedAfter: ofAccount('audienceId'), events: audienceEvents },
  { category: AUDIENCE_BATCH, namedAfter: ofAccount('batchId'), events: audienceBatchEvents },
  { category: PERSONAL_DATA, namedAfter: '<customerId>', events: personalDataEvents },
  { category: CATALOG, namedAfter: ofAccount('catalogId'), events: catalogEvents },
  {
    category: CATALOG_CONTENT,
    namedAfter: '<customerId>-<catalogId>-<contentHash>',
    events: catalogContentEvents,
  },
  { category: RESOURCE_SYNC, namedAfter: ofAccount('commandId'), events: resourceSyncEvents },
  { category: TASK, namedAfter: ofAccount('taskId'), events: taskEvents },
  { category: AGENT, namedAfter: ofAccount('agentId'), events: agentEvents },
  { category: SYNDICATION, namedAfter: ofAccount('recordId'), events: syndicationEvents },
  { category: CAMPAIGN, namedAfter: ofAccount('campaignId'), events: campaignEvents },
  { category: CREATIVE, namedAfter: ofAccount('creativeId'), events: creativeEvents },
  { category: CREATIVE_NAMES, namedAfter: ofAccount('campaignId'), events: creativeNameEvents },
  { category: SELLERS, namedAfter: '0', events: sellerEvents },
  { category: ENGINE_CONNECTION, namedAfter: ofAccount('slotId'), events: engineConnectionEvents },
  { category: CREATIVE_SESSION, namedAfter: ofAccount('sessionId'), events: creativeSessionEvents },
  { category: ASSET, namedAfter: ofAccount('assetId'), events: assetEvents },
];
