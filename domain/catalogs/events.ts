import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { CatalogDefinition } from './resource.ts';

const CatalogPublished = z.object({
  catalogId: z.string(),
  customerId: z.int(),
  advertiserId: z.int(),
  key: z.string(),
  version: z.int(),
  definition: CatalogDefinition,
});

/** Named again without a change: the feed must be read now. */
const CatalogFeedAsked = z.object({});
/** With other content, or for the first time after a failure. */
const CatalogFeedRead = z.object({
  version: z.int(),
  /** SHA-256 of the bytes as received, in hex. */
  contentHash: z.string(),
  bytes: z.int(),
  itemCount: z.int().optional(),
});
/** Recorded once for each reason, not for each attempt. */
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
export type CatalogFeedRead = z.infer<typeof CatalogFeedRead>;

const CatalogItemsStored = z.object({
  contentHash: z.string(),
  part: z.int(),
  items: z.array(z.record(z.string(), z.json())),
});

export const catalogContentEvents = {
  CatalogItemsStored: { schemaVersion: 1, data: CatalogItemsStored },
} as const;
export type CatalogItem = z.infer<typeof CatalogItemsStored>['items'][number];
