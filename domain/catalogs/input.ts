import { z } from 'zod';
import { EventType } from '../event-sources/event-type.ts';
import {
  AccountReference,
  freeMembers,
  listOrDefault,
  orDefault,
  syncItems,
} from '../resource-syncs/input.ts';
import { boundedText, fitsJson } from '../values.ts';
import { CatalogType, FeedFormat, UpdateFrequency } from './resource.ts';

/** Request body of a sync (specification; AdCP, task sync_catalogs). Other limits are our own. */

const ITEMS_MAX = 10_000;
const ITEM_JSON_MAX = 64 * 1024;

const CatalogItemInput = freeMembers().refine(...fitsJson(ITEM_JSON_MAX));

const catalogsOf = (address: z.ZodType<string>) =>
  syncItems('catalog_id', {
    type: CatalogType,
    name: orDefault(boundedText(1, 255)).meta({ description: 'Default: the catalog_id.' }),
    items: orDefault(z.array(CatalogItemInput).min(1).max(ITEMS_MAX)).meta({
      description: 'The items themselves; or else `url`.',
    }),
    url: orDefault(address).meta({ description: 'Where the items are; or else `items`.' }),
    feed_format: orDefault(FeedFormat),
    update_frequency: orDefault(UpdateFrequency).meta({
      description: 'How often the feed is read again. Default: only when a sync names it.',
    }),
    conversion_events: listOrDefault(EventType),
    content_id_type: orDefault(boundedText(1, 50)),
  });

export const syncCatalogsBody = (address: z.ZodType<string>) =>
  z
    .object({
      account: AccountReference.optional(),
      catalogs: catalogsOf(address),
      delete_missing: z
        .boolean()
        .nullish()
        .meta({ description: 'Delete the catalogs that the request does not name.' }),
      dry_run: z.literal(false, 'is not offered: leave it out').nullish(),
    })
    .meta({ id: 'SyncCatalogs' });

export type SyncCatalogsBody = z.output<ReturnType<typeof syncCatalogsBody>>;
