import type { z } from 'zod';
import { accountAggregate } from './accounts/account.ts';
import { advertiserAggregate } from './advertisers/advertiser.ts';
import { agentAggregate } from './agents/agent.ts';
import { assetAggregate } from './assets/asset.ts';
import { audienceBatchEvents } from './audiences/audience-events.ts';
import { AUDIENCE_BATCH, audienceAggregate } from './audiences/audience.ts';
import { campaignAggregate } from './campaigns/campaign.ts';
import { catalogContentEvents } from './catalogs/catalog-events.ts';
import { CATALOG_CONTENT, catalogAggregate } from './catalogs/catalog.ts';
import { CONVERSIONS, conversionEvents } from './conversions/conversion-events.ts';
import { creativeSessionAggregate } from './creative-sessions/creative-session.ts';
import { creativeNamesAggregate } from './creatives/creative-names.ts';
import { creativeAggregate } from './creatives/creative.ts';
import { engineConnectionAggregate } from './engines/engine-connection.ts';
import { eventSourceAggregate } from './event-sources/event-source.ts';
import { PERSONAL_DATA, personalDataEvents } from './personal-data/personal-data-events.ts';
import { resourceSyncAggregate } from './resource-syncs/resource-sync.ts';
import { sellerDirectoryAggregate } from './sellers/seller-directory.ts';
import { syndicationAggregate } from './syndication/syndication.ts';
import { taskAggregate } from './tasks/task.ts';

/** The schema of an event type's current version, and the upcasters of older ones. */
export interface EventDefinition {
  readonly schemaVersion: number;
  readonly data: z.ZodType;
  /** Schema in the log, if it differs: personal data is encrypted there. */
  readonly stored?: z.ZodType;
  /** One for each version but the last: the first converts version 1 to 2. */
  readonly upcasters?: readonly ((data: never) => unknown)[];
}

export interface StreamKind {
  /** The streams' names begin with it and a `-`. */
  readonly category: string;
  readonly namedAfter: string;
  readonly events: Readonly<Record<string, EventDefinition>>;
}

const ofAccount = (what: string): string => `<customerId>-<${what}>`;

/** Every event type of the log. A type belongs to one category. */
export const allEvents: readonly StreamKind[] = [
  { ...accountAggregate, namedAfter: '<customerId>' },
  { ...advertiserAggregate, namedAfter: ofAccount('advertiserId') },
  { ...eventSourceAggregate, namedAfter: ofAccount('sourceId') },
  { category: CONVERSIONS, namedAfter: ofAccount('sourceId'), events: conversionEvents },
  { ...audienceAggregate, namedAfter: ofAccount('audienceId') },
  { category: AUDIENCE_BATCH, namedAfter: ofAccount('batchId'), events: audienceBatchEvents },
  { category: PERSONAL_DATA, namedAfter: '<customerId>', events: personalDataEvents },
  { ...catalogAggregate, namedAfter: ofAccount('catalogId') },
  {
    category: CATALOG_CONTENT,
    namedAfter: '<customerId>-<catalogId>-<contentHash>',
    events: catalogContentEvents,
  },
  { ...resourceSyncAggregate, namedAfter: ofAccount('commandId') },
  { ...taskAggregate, namedAfter: ofAccount('taskId') },
  { ...agentAggregate, namedAfter: ofAccount('agentId') },
  { ...syndicationAggregate, namedAfter: ofAccount('recordId') },
  { ...campaignAggregate, namedAfter: ofAccount('campaignId') },
  { ...creativeAggregate, namedAfter: ofAccount('creativeId') },
  { ...creativeNamesAggregate, namedAfter: ofAccount('campaignId') },
  { ...sellerDirectoryAggregate, namedAfter: '0' },
  { ...engineConnectionAggregate, namedAfter: ofAccount('slotId') },
  { ...creativeSessionAggregate, namedAfter: ofAccount('sessionId') },
  { ...assetAggregate, namedAfter: ofAccount('assetId') },
];
