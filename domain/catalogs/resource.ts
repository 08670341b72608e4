import { z } from 'zod';
import { EventType } from '../event-sources/event-type.ts';
import {
  changeable,
  clearable,
  definitionShape,
  derived,
  initialMembers,
  membersOf,
  resourceShape,
} from '../fields.ts';
import { SyncAction, type SyncedResource } from '../resource-syncs/resource.ts';
import { Timestamp } from '../values.ts';

/** AdCP 3.0, enums catalog-type, feed-format and update-frequency. */
export const CatalogType = z.enum([
  'offering',
  'product',
  'inventory',
  'store',
  'promotion',
  'hotel',
  'flight',
  'job',
  'vehicle',
  'real_estate',
  'education',
  'destination',
  'app',
]);
export type CatalogType = z.infer<typeof CatalogType>;
export const FeedFormat = z.enum([
  'google_merchant_center',
  'facebook_catalog',
  'shopify',
  'linkedin_jobs',
  'custom',
]);
export const UpdateFrequency = z.enum(['realtime', 'hourly', 'daily', 'weekly']);

const FeedResource = z
  .strictObject({
    status: z
      .enum(['PENDING', 'READ', 'FAILED'])
      .meta({ description: 'FAILED: it could not be read the last time, and is tried again.' }),
    bytes: z.int().optional(),
    readAt: Timestamp.optional().meta({ description: 'When it was found to hold what it holds.' }),
    errorMessage: z.string().optional(),
    failingSince: Timestamp.optional(),
  })
  .meta({ id: 'CatalogFeed' });

const feedMembers = {
  url: z.string(),
  feedFormat: FeedFormat.optional(),
  updateFrequency: UpdateFrequency.optional(),
};

const catalogFields = {
  catalogId: derived(z.string()),
  type: changeable(CatalogType),
  name: changeable(z.string()),
  status: derived(z.enum(['ACTIVE'])),
  version: derived(z.int()),
  itemCount: derived(
    z.int().meta({
      description: 'Items that are kept here; 0 where a feed holds them, which nothing counts.',
    }),
  ),
  contentHash: derived(
    z.string().optional().meta({
      description: 'SHA-256 of the items as canonical JSON, or of the bytes of the feed when it was read.',
    }),
  ),
  url: derived(feedMembers.url.optional()),
  feedFormat: derived(feedMembers.feedFormat),
  updateFrequency: derived(feedMembers.updateFrequency),
  feed: derived(FeedResource.optional()),
  conversionEvents: changeable(z.array(EventType), []),
  contentIdType: clearable(z.string()),
  createdAt: derived(Timestamp),
  updatedAt: derived(Timestamp),
};

export const CatalogResource = z.strictObject(resourceShape(catalogFields)).meta({ id: 'Catalog' });
export type CatalogResource = z.infer<typeof CatalogResource>;

export const SyncCatalogsResult = z
  .strictObject({
    catalogs: z.array(
      z.strictObject({
        catalog_id: z.string(),
        action: SyncAction,
        item_count: z.int().optional(),
        version: z.int().optional(),
        errors: z.array(z.strictObject({ code: z.string(), message: z.string() })).optional(),
      }),
    ),
  })
  .meta({ id: 'SyncCatalogsResult' });
export type CatalogSyncResult = z.infer<typeof SyncCatalogsResult>['catalogs'][number];

const Content = z.union([
  z.object({
    kind: z.literal('inline'),
    /** SHA-256 of the items as canonical JSON, in hex. */
    contentHash: z.string(),
    itemCount: z.int(),
  }),
  z.object({ kind: z.literal('feed'), ...feedMembers }),
]);

const { type, name, ...optional } = definitionShape(catalogFields);
export const CatalogDefinition = z.object({ type, name, content: Content, ...optional });
export type CatalogDefinition = z.infer<typeof CatalogDefinition>;

export interface CatalogFeed {
  /** Number of recorded results: a reader names the one that it started from. */
  readonly revision: number;
  readonly changes: number;
  readonly read?: { readonly contentHash: string; readonly bytes: number; readonly since: string };
  readonly failure?: { readonly reason: string; readonly since: string } | undefined;
}

export interface Catalog extends SyncedResource {
  readonly catalogId: string;
  /** From 1; raised by every publication and every change of the feed's content. */
  readonly version: number;
  readonly definition: CatalogDefinition;
  readonly feed?: CatalogFeed | undefined;
}

export const itemCountOf = ({ definition: { content } }: Catalog): number =>
  content.kind === 'inline' ? content.itemCount : 0;

const feedResource = ({ read, failure }: Partial<CatalogFeed> = {}): z.infer<typeof FeedResource> => ({
  status: failure !== undefined ? 'FAILED' : read !== undefined ? 'READ' : 'PENDING',
  ...(read === undefined ? {} : { bytes: read.bytes, readAt: read.since }),
  ...(failure === undefined ? {} : { errorMessage: failure.reason, failingSince: failure.since }),
});

const defaults = initialMembers(catalogFields);

export const catalogResource = (catalog: Catalog): CatalogResource => {
  const { feed, definition } = catalog;
  const { content } = definition;
  return membersOf(CatalogResource, {
    ...defaults,
    ...catalog,
    ...definition,
    ...content,
    catalogId: catalog.key,
    status: 'ACTIVE',
    itemCount: itemCountOf(catalog),
    contentHash: content.kind === 'inline' ? content.contentHash : feed?.read?.contentHash,
    feed: content.kind === 'inline' ? undefined : feedResource(feed),
  });
};
