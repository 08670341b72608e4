import { z } from 'zod';
import { EventType } from '../event-sources/event-type.ts';
import type { CatalogDefinition } from './catalog-events.ts';
import { CatalogType, FeedFormat, UpdateFrequency } from './catalog-values.ts';
import { Timestamp } from '../values.ts';

export { CatalogType } from './catalog-values.ts';

/** The results of reading a feed. */
export interface CatalogFeed {
  /** Number of recorded results: a reader names the one that it started from. */
  readonly revision: number;
  /** Number of changes of the feed's content. */
  readonly changes: number;
  /** The last successful read; undefined before the first. */
  readonly read?: {
    readonly contentHash: string;
    readonly bytes: number;
    readonly since: string;
  };
  /** Why the feed cannot be read now; undefined if it can. */
  readonly failure?: { readonly reason: string; readonly since: string } | undefined;
}

/** A catalog folded from its events; also its row in the read model, as JSON text. */
export interface Catalog {
  readonly status: 'ACTIVE' | 'ARCHIVED';
  /** UUID derived from the account, the advertiser and the buyer's key. */
  readonly catalogId: string;
  readonly customerId: number;
  readonly advertiserId: number;
  readonly key: string;
  /** From 1; raised by every publication and every change of the feed's content. */
  readonly version: number;
  readonly definition: CatalogDefinition;
  /** Undefined for a catalog without a feed, and before the first read. */
  readonly feed?: CatalogFeed | undefined;
  /** The effect of the last event, as the answer of a sync names it. */
  readonly lastChange: 'created' | 'updated' | 'unchanged' | 'deleted';
  readonly createdAt: string;
  readonly updatedAt: string;
}

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

/** A catalog as the API shows it (decisions.md section 2). */
export const CatalogResource = z
  .strictObject({
    catalogId: z.string(),
    type: CatalogType,
    name: z.string(),
    status: z.enum(['ACTIVE']),
    version: z.int(),
    itemCount: z.int().meta({
      description: 'Items that are kept here; 0 where a feed holds them, which nothing counts.',
    }),
    contentHash: z.string().optional().meta({
      description: 'SHA-256 of the items as canonical JSON, or of the bytes of the feed when it was read.',
    }),
    url: z.string().optional(),
    feedFormat: FeedFormat.optional(),
    updateFrequency: UpdateFrequency.optional(),
    feed: FeedResource.optional(),
    conversionEvents: z.array(EventType),
    contentIdType: z.string().optional(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Catalog' });

export type CatalogResource = z.infer<typeof CatalogResource>;

export const itemCountOf = ({ definition: { content } }: Catalog): number =>
  content.kind === 'inline' ? content.itemCount : 0;

const feedResource = ({ read, failure }: Partial<CatalogFeed> = {}): z.infer<typeof FeedResource> => ({
  status: failure !== undefined ? 'FAILED' : read !== undefined ? 'READ' : 'PENDING',
  ...(read === undefined ? {} : { bytes: read.bytes, readAt: read.since }),
  ...(failure === undefined ? {} : { errorMessage: failure.reason, failingSince: failure.since }),
});

export const catalogResource = (catalog: Catalog): CatalogResource => {
  const { type, name, content, conversionEvents = [], contentIdType } = catalog.definition;
  const { kind, ...place } = content;
  const { read } = catalog.feed ?? {};
  return {
    catalogId: catalog.key,
    type,
    name,
    status: 'ACTIVE',
    version: catalog.version,
    itemCount: itemCountOf(catalog),
    ...place,
    ...(kind === 'feed' ? { feed: feedResource(catalog.feed) } : {}),
    ...(kind === 'feed' && read !== undefined ? { contentHash: read.contentHash } : {}),
    conversionEvents,
    ...(contentIdType === undefined ? {} : { contentIdType }),
    createdAt: catalog.createdAt,
    updatedAt: catalog.updatedAt,
  };
};
