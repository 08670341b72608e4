import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { CatalogDefinition, CatalogItem } from '../../domain/catalogs/catalog-events.ts';
import { CatalogType, FeedFormat, UpdateFrequency } from '../../domain/catalogs/catalog-values.ts';
import { EventType } from '../../domain/event-sources/event-type.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import { boundedText, outboundAddress } from '../../shared/http/schemas.ts';
import { canonicalJson } from '../../shared/json/canonical-json.ts';
import type { OutboundPolicy } from '../../shared/outbound/outbound-url.ts';
import {
  AccountReference,
  freeMembers,
  listOrDefault,
  orDefault,
  syncItems,
} from '../resource-syncs/sync-items.ts';

/**
 * Request body of a catalog sync (decisions.md section 2; AdCP, task sync_catalogs). Limits that neither gives are
 * our own.
 */

const ITEMS_MAX = 10_000;
const ITEM_JSON_MAX = 64 * 1024;

const CatalogItemInput = freeMembers().refine(
  (item) => JSON.stringify(item).length <= ITEM_JSON_MAX,
  `must have at most ${ITEM_JSON_MAX} characters as JSON`,
);

const catalogsOf = (outbound: OutboundPolicy) =>
  syncItems('catalog_id', {
    type: CatalogType,
    name: orDefault(boundedText(1, 255)).meta({ description: 'Default: the catalog_id.' }),
    items: orDefault(z.array(CatalogItemInput).min(1).max(ITEMS_MAX)).meta({
      description: 'The items themselves; or else `url`.',
    }),
    url: orDefault(outboundAddress(outbound)).meta({ description: 'Where the items are; or else `items`.' }),
    feed_format: orDefault(FeedFormat),
    update_frequency: orDefault(UpdateFrequency).meta({
      description: 'How often the feed is read again. Default: only when a sync names it.',
    }),
    conversion_events: listOrDefault(EventType),
    content_id_type: orDefault(boundedText(1, 50)),
  });

export const syncCatalogsBody = (outbound: OutboundPolicy) =>
  z
    .object({
      account: AccountReference.optional(),
      catalogs: catalogsOf(outbound),
      delete_missing: z
        .boolean()
        .nullish()
        .meta({ description: 'Delete the catalogs that the request does not name.' }),
      dry_run: z.literal(false, 'is not offered: leave it out').nullish(),
    })
    .meta({ id: 'SyncCatalogs' });

export type SyncCatalogsBody = z.output<ReturnType<typeof syncCatalogsBody>>;
type CatalogInput = Extract<SyncCatalogsBody['catalogs'][number], { item: unknown }>['item'];

export interface RequestedCatalog {
  readonly definition: CatalogDefinition;
  readonly items: readonly CatalogItem[];
}

/** A sync replaces the definition: absent members take their defaults. */
export const requestedCatalog = (
  key: string,
  input: CatalogInput,
): RequestedCatalog | { problem: string } => {
  const { type, items, url } = input;
  if ((items === undefined) === (url === undefined)) {
    return { problem: 'items or url is required, and only one of them' };
  }
  return {
    items: items ?? [],
    definition: omitUndefined({
      type,
      name: input.name ?? key,
      content:
        url === undefined
          ? { kind: 'inline' as const, contentHash: hashOf(items), itemCount: items?.length ?? 0 }
          : omitUndefined({
              kind: 'feed' as const,
              url,
              feedFormat: input.feed_format,
              updateFrequency: input.update_frequency,
            }),
      conversionEvents: input.conversion_events,
      contentIdType: input.content_id_type,
    }),
  };
};

const hashOf = (items: unknown): string => createHash('sha256').update(canonicalJson(items)).digest('hex');
