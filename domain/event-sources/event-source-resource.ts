import { z } from 'zod';
import type { EventSourceDefinition } from './event-source-events.ts';
import { EventType } from './event-type.ts';
import { Timestamp } from '../values.ts';

export { EventType } from './event-type.ts';

export interface EventSource extends EventSourceDefinition {
  readonly status: 'ACTIVE' | 'ARCHIVED';
  readonly sourceId: string;
  readonly key: string;
  readonly customerId: number;
  readonly advertiserId: number;
  /** The effect of the last event, as the answer of a sync names it. */
  readonly lastChange: 'created' | 'updated' | 'deleted';
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** The observed health of a source. Null stands for not observed yet. */
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

/** An event source as the API shows it (decisions.md section 2). */
export const EventSourceResource = z
  .strictObject({
    eventSourceId: z.string(),
    name: z.string(),
    eventTypes: z.array(EventType).meta({ description: 'Empty: all.' }),
    allowedDomains: z.array(z.string()).meta({ description: 'Empty: any.' }),
    integrationPlatform: z.string().optional(),
    mapping: z.record(z.string(), z.json()).optional(),
    testEventCode: z.string().optional(),
    health: EventSourceHealth,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'EventSource' });

export type EventSourceHealth = z.infer<typeof EventSourceHealth>;
export type EventSourceResource = z.infer<typeof EventSourceResource>;

export const notSeen: EventSourceHealth = {
  status: 'not_seen',
  lastEventAt: null,
  lastEventReceivedAt: null,
  lastEventType: null,
  lastError: null,
  lastErrorAt: null,
};

export const eventSourceResource = (source: EventSource, health: EventSourceHealth): EventSourceResource => ({
  eventSourceId: source.key,
  name: source.name,
  eventTypes: source.eventTypes ?? [],
  allowedDomains: source.allowedDomains ?? [],
  ...(source.integrationPlatform === undefined ? {} : { integrationPlatform: source.integrationPlatform }),
  ...(source.mapping === undefined ? {} : { mapping: source.mapping }),
  ...(source.testEventCode === undefined ? {} : { testEventCode: source.testEventCode }),
  health,
  createdAt: source.createdAt,
  updatedAt: source.updatedAt,
});
