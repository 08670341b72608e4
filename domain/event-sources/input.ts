import { z } from 'zod';
import {
  AccountReference,
  freeMembers,
  listOrDefault,
  orDefault,
  syncItems,
} from '../resource-syncs/input.ts';
import { boundedText, fitsJson } from '../values.ts';
import { EventType } from './event-type.ts';

/** Request body of a sync (specification; AdCP, task sync_event_sources). Other limits are our own. */

const DOMAIN =
  /^(?:\*\.)?(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;
const MAPPING_JSON_MAX = 16 * 1024;

const Domain = z.string().toLowerCase().regex(DOMAIN, 'must be a domain, e.g. "shop.example.com"');

const EventSources = syncItems('event_source_id', {
  name: orDefault(boundedText(1, 255)).meta({ description: 'Default: the event_source_id.' }),
  event_types: listOrDefault(EventType).meta({ description: 'Default: all.' }),
  allowed_domains: listOrDefault(Domain).meta({ description: 'Default: any.' }),
  integration_platform: orDefault(boundedText(1, 100)),
  mapping: orDefault(freeMembers().refine(...fitsJson(MAPPING_JSON_MAX))),
  test_event_code: orDefault(boundedText(1, 100)),
});

export const SyncEventSourcesBody = z
  .object({
    account: AccountReference,
    event_sources: EventSources,
    delete_missing: z
      .boolean()
      .nullish()
      .meta({ description: 'Delete the sources that the request does not name.' }),
  })
  .meta({ id: 'SyncEventSources' });

export type SyncEventSourcesBody = z.output<typeof SyncEventSourcesBody>;
