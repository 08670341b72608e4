import { z } from 'zod';
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
import { EventType } from './event-type.ts';

/** Observed. Null: not observed yet. */
export const EventSourceHealth = z
  .strictObject({
    status: z.enum(['not_seen', 'receiving', 'needs_attention']),
    lastEventAt: Timestamp.nullable(),
    lastEventReceivedAt: Timestamp.nullable(),
    lastEventType: EventType.nullable(),
    lastError: z.string().nullable(),
    lastErrorAt: Timestamp.nullable(),
  })
  .meta({ id: 'EventSourceHealth' });
export type EventSourceHealth = z.infer<typeof EventSourceHealth>;

export const notSeen: EventSourceHealth = {
  status: 'not_seen',
  lastEventAt: null,
  lastEventReceivedAt: null,
  lastEventType: null,
  lastError: null,
  lastErrorAt: null,
};

const EventTypes = z.array(EventType);
const Domains = z.array(z.string());

const eventSourceFields = {
  eventSourceId: derived(z.string()),
  name: changeable(z.string()),
  eventTypes: changeable(EventTypes.meta({ description: 'Empty: all.' }), [], EventTypes),
  allowedDomains: changeable(Domains.meta({ description: 'Empty: any.' }), [], Domains),
  integrationPlatform: clearable(z.string()),
  // The buyer's own notes; stored and shown unchanged.
  mapping: clearable(z.record(z.string(), z.json())),
  testEventCode: clearable(z.string()),
  health: derived(EventSourceHealth),
  createdAt: derived(Timestamp),
  updatedAt: derived(Timestamp),
};

export const EventSourceResource = z
  .strictObject(resourceShape(eventSourceFields))
  .meta({ id: 'EventSource' });
export type EventSourceResource = z.infer<typeof EventSourceResource>;

export const EventSourceDefinition = z.object(definitionShape(eventSourceFields));
export type EventSourceDefinition = z.infer<typeof EventSourceDefinition>;

export interface EventSource extends SyncedResource, EventSourceDefinition {
  readonly sourceId: string;
}

export const SyncEventSourcesResult = z
  .strictObject({
    event_sources: z.array(
      z.strictObject({
        event_source_id: z.string(),
        action: SyncAction,
        error: z.string().optional().meta({ description: 'For a failed source: what to change.' }),
        setup: z.strictObject({ snippet_type: z.enum(['server_only']), instructions: z.string() }).optional(),
      }),
    ),
  })
  .meta({ id: 'SyncEventSourcesResult' });
export type EventSourceSyncResult = z.infer<typeof SyncEventSourcesResult>['event_sources'][number];

const defaults = initialMembers(eventSourceFields);

export const eventSourceResource = (source: EventSource, health: EventSourceHealth): EventSourceResource =>
  membersOf(EventSourceResource, { ...defaults, ...source, eventSourceId: source.key, health });
