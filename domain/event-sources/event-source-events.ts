import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { EventType } from './event-type.ts';

/** All members that a buyer sets. Absent ones have their defaults. */
const Definition = z.object({
  name: z.string(),
  eventTypes: z.array(EventType).optional(),
  /** Domains that may send events; absent: any. */
  allowedDomains: z.array(z.string()).optional(),
  integrationPlatform: z.string().optional(),
  /** The buyer's own notes about the mapping of its data; stored and shown unchanged. */
  mapping: z.record(z.string(), z.json()).optional(),
  testEventCode: z.string().optional(),
});

const EventSourceCreated = z.object({
  sourceId: z.string(),
  customerId: z.int(),
  advertiserId: z.int(),
  key: z.string(),
  definition: Definition,
});

const NewDefinition = z.object({ definition: Definition });

/** Version 1 had three event types fewer. */
const withMoreTypes = { schemaVersion: 2, upcasters: [<Data>(data: Data): Data => data] } as const;

export const eventSourceEvents = {
  EventSourceCreated: { data: EventSourceCreated, ...withMoreTypes },
  EventSourceUpdated: { data: NewDefinition, ...withMoreTypes },
  EventSourceArchived: { schemaVersion: 1, data: z.object({}) },
  EventSourceRestored: { data: NewDefinition, ...withMoreTypes },
} as const;

export type EventSourceEvent = EventsOf<typeof eventSourceEvents>;
export type EventSourceDefinition = z.infer<typeof Definition>;
