import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { EventSourceDefinition } from './resource.ts';

const NewDefinition = z.object({ definition: EventSourceDefinition });
const EventSourceCreated = z.object({
  sourceId: z.string(),
  customerId: z.int(),
  advertiserId: z.int(),
  key: z.string(),
  ...NewDefinition.shape,
});

/** Version 1 had three event types fewer. */
const withMoreTypes = { schemaVersion: 2, upcasters: [<Data>(data: Data): Data => data] } as const;

export const eventSourceEvents = {
  EventSourceCreated: { data: EventSourceCreated, ...withMoreTypes },
  EventSourceUpdated: { data: NewDefinition, ...withMoreTypes },
  EventSourceArchived: { schemaVersion: 1, data: z.object({}) },
  EventSourceRestored: { data: NewDefinition, ...withMoreTypes },
} as const;

export type EventSourceEvent = EventsOf<typeof eventSourceEvents>;
