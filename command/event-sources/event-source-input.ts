import { z } from 'zod';
import type { EventSourceDefinition } from '../../domain/event-sources/event-source-events.ts';
import { EventType } from '../../domain/event-sources/event-type.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import { boundedText } from '../../shared/http/schemas.ts';
import {
  AccountReference,
  freeMembers,
  listOrDefault,
  orDefault,
  syncItems,
} from '../resource-syncs/sync-items.ts';

/**
 * Request body of an event-source sync (decisions.md section 2; AdCP, task sync_event_sources). Limits that neither
 * gives are our own.
 */

const DOMAIN =
  /^(?:\*\.)?(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;
const MAPPING_JSON_MAX = 16 * 1024;

const Domain = z.string().toLowerCase().regex(DOMAIN, 'must be a domain, e.g. "shop.example.com"');

const EventSources = syncItems('event_source_id', {
  name: orDefault(boundedText(1, 255)).meta({ description: 'Default: the event_source_id.' }),
  event_types: listOrDefault(EventType).meta({ description: 'Default: all.' }),
  allowed_domains: listOrDefault(Domain).meta({ description: 'Default: any.' }),
  integration_platform: orDefault(boundedText(1, 100)),
  mapping: orDefault(
    freeMembers().refine(
      (mapping) => JSON.stringify(mapping).length <= MAPPING_JSON_MAX,
      `must have at most ${MAPPING_JSON_MAX} characters as JSON`,
    ),
  ),
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
type EventSourceItem = Extract<SyncEventSourcesBody['event_sources'][number], { item: unknown }>['item'];

/** A sync replaces the definition: absent members take their defaults. */
export const definitionOf = (key: string, item: EventSourceItem): EventSourceDefinition =>
  omitUndefined({
    name: item.name ?? key,
    eventTypes: item.event_types,
    allowedDomains: item.allowed_domains,
    integrationPlatform: item.integration_platform,
    mapping: item.mapping,
    testEventCode: item.test_event_code,
  });
