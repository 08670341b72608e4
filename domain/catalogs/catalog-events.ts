import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { EventType } from '../event-sources/event-type.ts';
import { CatalogType, FeedFormat, UpdateFrequency } from './catalog-values.ts';

/** The place of the items: stored here under their hash, or at a URL of the buyer. */
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

/** A new version of the catalog, with its complete definition. */
const CatalogPublished = z.object({
  catalogId: z.string(),
  customerId: z.int(),
  advertiserId: z.int(),
  key: z.string(),
  version: z.int(),
  definition: Definition,
});

/** A sync named the feed again without a change: it must be read now. */
const CatalogFeedAsked = z.object({});
/** The feed was read with a new result: other content, or the first success after a failure. */
const CatalogFeedRead = z.object({
  /** Version of the catalog, raised if the feed's content changed. */
  version: z.int(),
  /** SHA-256 of the bytes as received, in hex. */
  contentHash: z.string(),
  bytes: z.int(),
  itemCount: z.int().optional(),
});
/** The feed could not be read. Recorded once for each reason, not for each attempt. */
const CatalogFeedFailed = z.object({ reason: z.string() });

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

/** A part of a content's items; the parts in order are all items. */
const CatalogItemsStored = z.object({
  contentHash: z.string(),
  part: z.int(),
  items: z.array(z.record(z.string(), z.json())),
});

export const catalogContentEvents = {
  CatalogItemsStored: { schemaVersion: 1, data: CatalogItemsStored },
} as const;
export type CatalogItem = z.infer<typeof CatalogItemsStored>['items'][number];
