import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { EventType } from '../event-sources/event-type.ts';
import { CatalogType, FeedFormat, UpdateFrequency } from './catalog-values.ts';

/** Where the items are: kept here under the hash of what they are, or at an address of the buyer's. */
const Content = z.union([
  z.object({
    kind: z.literal('inline'),
    /** SHA-256 of the items as canonical JSON, in hex. */
    contentHash: z.string(),
    itemCount: z.int(),
  }),
  z.object({
    kind: z.literal('feed'),
    url: z.string(),
    feedFormat: FeedFormat.optional(),
    updateFrequency: UpdateFrequency.optional(),
  }),
]);

const Definition = z.object({
  type: CatalogType,
  name: z.string(),
  content: Content,
  conversionEvents: z.array(EventType).optional(),
  contentIdType: z.string().optional(),
});

/** A new version of the catalog: all that the buyer says about it. */
const CatalogPublished = z.object({
  catalogId: z.string(),
  customerId: z.int(),
  advertiserId: z.int(),
  key: z.string(),
  version: z.int(),
  definition: Definition,
});

/** A sync named the feed again without changing anything: it is to be read now. */
const CatalogFeedAsked = z.object({});
/** The feed was read, and holds something else than what is known of it, or could not be read before. */
const CatalogFeedRead = z.object({
  /** Of the catalog; one more when what the feed holds has changed. */
  version: z.int(),
  /** SHA-256 of the bytes as they were sent, in hex. */
  contentHash: z.string(),
  bytes: z.int(),
  /** Written until feeds were no longer counted; read by nothing. */
  itemCount: z.int().optional(),
});
/** The feed could not be read; once for each reason, however often it is tried. */
const CatalogFeedFailed = z.object({ reason: z.string() });

/** Schema and current version of every event that a catalog's stream can hold. */
export const catalogEvents = {
  CatalogPublished: {
    schemaVersion: 2,
    data: CatalogPublished,
    // Version 1 had three event types fewer.
    upcasters: [<Data>(data: Data): Data => data],
  },
  CatalogArchived: { schemaVersion: 1, data: z.object({}) },
  CatalogFeedAsked: { schemaVersion: 1, data: CatalogFeedAsked },
  CatalogFeedRead: { schemaVersion: 1, data: CatalogFeedRead },
  CatalogFeedFailed: { schemaVersion: 1, data: CatalogFeedFailed },
} as const;

export type CatalogEvent = EventsOf<typeof catalogEvents>;
export type CatalogDefinition = z.infer<typeof Definition>;
export type CatalogFeedRead = z.infer<typeof CatalogFeedRead>;

/** A part of the items of one content: together, in order, they are the items. */
const CatalogItemsStored = z.object({
  contentHash: z.string(),
  part: z.int(),
  items: z.array(z.record(z.string(), z.json())),
});

export const catalogContentEvents = {
  CatalogItemsStored: { schemaVersion: 1, data: CatalogItemsStored },
} as const;
export type CatalogItem = z.infer<typeof CatalogItemsStored>['items'][number];
