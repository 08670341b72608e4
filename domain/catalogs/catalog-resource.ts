import { z } from 'zod';
import { EventType } from '../event-sources/event-type.ts';
import type { CatalogDefinition } from './catalog-events.ts';
import { CatalogType, FeedFormat, UpdateFrequency } from './catalog-values.ts';

export { CatalogType } from './catalog-values.ts';

/** What is known of a feed from reading it. */
export interface CatalogFeed {
  /** How often what is known has changed: whoever reads the feed says what they went by. */
  readonly revision: number;
  /** How often the feed was found to hold something else than before. */
  readonly changes: number;
  /** Of what it held when it could be read last; undefined before. */
  readonly read?: {
    readonly contentHash: string;
    readonly bytes: number;
    readonly since: string;
  };
  /** Why it cannot be read now; undefined when it can. */
  readonly failure?: { readonly reason: string; readonly since: string } | undefined;
}

/** A catalog: the aggregate's state and, as JSON text, its row in the read model. */
export interface Catalog {
  readonly status: 'ACTIVE' | 'ARCHIVED';
  /** UUID that follows from the account, the advertiser and the buyer's key. */
  readonly catalogId: string;
  readonly customerId: number;
  readonly advertiserId: number;
  readonly key: string;
  /** From 1, one more with every publication, and every change of its feed. */
  readonly version: number;
  readonly definition: CatalogDefinition;
  /** Undefined of a catalog without a feed, and of a feed that nobody has tried to read yet. */
  readonly feed?: CatalogFeed | undefined;
  /** What its last event did, in the words of a sync's answer. */
  readonly lastChange: 'created' | 'updated' | 'unchanged' | 'deleted';
  readonly createdAt: string;
  readonly updatedAt: string;
}

const Timestamp = z.iso.datetime({ precision: 3 });

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
