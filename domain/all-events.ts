import type { z } from 'zod';
import { accountAggregate } from './accounts/account.ts';
import { advertiserAggregate } from './advertisers/advertiser.ts';
import { agentAggregate } from './agents/agent.ts';
import { assetAggregate } from './assets/asset.ts';
import { audienceBatchEvents } from './audiences/events.ts';
import { AUDIENCE_BATCH, audienceAggregate } from './audiences/audience.ts';
import { campaignAggregate } from './campaigns/campaign.ts';
import { catalogContentEvents } from './catalogs/events.ts';
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
  /** How the audit log shows its events. Absent: it leaves them out. */
  readonly audited?: AuditedStream;
}

/** Members that all events of a stream share, or that keep their value until an event changes them. */
export type CarriedMember = 'advertiserId' | 'campaignIds' | 'part';

export interface AuditedStream {
  /** Type of the resource in the audit log. */
  readonly resourceType: string;
  readonly carries: readonly CarriedMember[];
}

const audited = (resourceType: string, ...carries: readonly CarriedMember[]): AuditedStream => ({
  resourceType,
  carries,
});

const ofAccount = (what: string): string => `<customerId>-<${what}>`;

/**
 * Every event type of the log. A type belongs to one category. The audit log leaves out streams that serve others:
 * members of audiences and items of catalogs (they are data, partly personal), reserved names, plans of syncs. It also
 * leaves out the directory of sellers, which belongs to no account.
 */
export const allEvents: readonly StreamKind[] = [
  { ...accountAggregate, namedAfter: '<customerId>', audited: audited('ACCOUNT') },
  { ...advertiserAggregate, namedAfter: ofAccount('advertiserId'), audited: audited('ADVERTISER') },
  {
    ...eventSourceAggregate,
    namedAfter: ofAccount('sourceId'),
    audited: audited('EVENT_SOURCE', 'advertiserId'),
  },
  {
    category: CONVERSIONS,
    namedAfter: ofAccount('sourceId'),
    events: conversionEvents,
    audited: audited('CONVERSIONS'),
  },
  { ...audienceAggregate, namedAfter: ofAccount('audienceId'), audited: audited('AUDIENCE', 'advertiserId') },
  { category: AUDIENCE_BATCH, namedAfter: ofAccount('batchId'), events: audienceBatchEvents },
  {
    // Erasures belong to the account; they have no state to fold.
    category: PERSONAL_DATA,
    namedAfter: '<customerId>',
    events: personalDataEvents,
    audited: audited('ACCOUNT'),
  },
  { ...catalogAggregate, namedAfter: ofAccount('catalogId'), audited: audited('CATALOG', 'advertiserId') },
  {
    category: CATALOG_CONTENT,
    namedAfter: '<customerId>-<catalogId>-<contentHash>',
    events: catalogContentEvents,
  },
  { ...resourceSyncAggregate, namedAfter: ofAccount('commandId') },
  { ...taskAggregate, namedAfter: ofAccount('taskId'), audited: audited('TASK') },
  { ...agentAggregate, namedAfter: ofAccount('agentId'), audited: audited('ADCP_AGENT') },
  {
    ...syndicationAggregate,
    namedAfter: ofAccount('recordId'),
    audited: audited('SYNDICATION', 'advertiserId'),
  },
  { ...campaignAggregate, namedAfter: ofAccount('campaignId'), audited: audited('CAMPAIGN', 'advertiserId') },
  {
    ...creativeAggregate,
    namedAfter: ofAccount('creativeId'),
    audited: audited('CREATIVE', 'advertiserId', 'campaignIds'),
  },
  { ...creativeNamesAggregate, namedAfter: ofAccount('campaignId') },
  { ...sellerDirectoryAggregate, namedAfter: '0' },
  {
    ...engineConnectionAggregate,
    namedAfter: ofAccount('slotId'),
    audited: audited('ENGINE_CONNECTION', 'part'),
  },
  {
    ...creativeSessionAggregate,
    namedAfter: ofAccount('sessionId'),
    audited: audited('CREATIVE_SESSION', 'advertiserId', 'campaignIds'),
  },
  { ...assetAggregate, namedAfter: ofAccount('assetId'), audited: audited('ASSET', 'advertiserId') },
];
