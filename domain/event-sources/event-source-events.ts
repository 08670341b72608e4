import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { EventType } from './event-type.ts';

/** All that a buyer says about a source. Whatever is absent is at its default. */
const Definition = z.object({
  name: z.string(),
  /** Event types that the source takes; absent: all. */
  eventTypes: z.array(EventType).optional(),
  /** Domains that may send events for it; absent: any. */
  allowedDomains: z.array(z.string()).optional(),
  integrationPlatform: z.string().optional(),
  /** The buyer's own notes on how its data becomes events; kept and shown as it is. */
  mapping: z.record(z.string(), z.json()).optional(),
  testEventCode: z.string().optional(),
});

const EventSourceCreated = z.object({
  sourceId: z.string(),
  customerId: z.int(),
  advertiserId: z.int(),
  /** The buyer's own id of it, unique within the advertiser. */
  key: z.string(),
  definition: Definition,
});

const Defined = z.object({ definition: Definition });

/** Version 1 had three event types fewer. */
const ofMoreTypes = { schemaVersion: 2, upcasters: [<Data>(data: Data): Data => data] } as const;

/** Schema and current version of every event that an event source's stream can hold. */
export const eventSourceEvents = {
  EventSourceCreated: { data: EventSourceCreated, ...ofMoreTypes },
  EventSourceUpdated: { data: Defined, ...ofMoreTypes },
  EventSourceArchived: { schemaVersion: 1, data: z.object({}) },
  EventSourceRestored: { data: Defined, ...ofMoreTypes },
} as const;

export type EventSourceEvent = EventsOf<typeof eventSourceEvents>;
export type EventSourceDefinition = z.infer<typeof Definition>;
