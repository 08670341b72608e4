import type { z } from 'zod';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import { UnprojectableEventError } from './projection.ts';

/** An event type that a read model knows, with the version of its schema. */
interface EventSchema {
  readonly schemaVersion: number;
  readonly data: z.ZodType;
  /** For large data: true when the schema takes them as they are. What is false is left to the schema. */
  readonly isPlain?: (data: unknown) => boolean;
}

export type EventSchemas = Readonly<Record<string, EventSchema>>;

export interface DecodedEvent {
  readonly type: string;
  readonly data: unknown;
  readonly occurredAt: string;
}

/**
 * A recorded event as the domain knows it.
 * @throws UnprojectableEventError for a type or version this program does not know (a newer program wrote it,
 *   say) and for data that does not fit the schema
 */
export const decodeEvent = (event: RecordedEvent, schemas: EventSchemas): DecodedEvent => {
  const known = Object.hasOwn(schemas, event.type) ? schemas[event.type] : undefined;
  if (known === undefined) throw new UnprojectableEventError(event, 'unknown event type');
  if (event.metadata.schemaVersion !== known.schemaVersion) {
    throw new UnprojectableEventError(event, `unknown schema version ${event.metadata.schemaVersion}`);
  }
  const { occurredAt } = event.metadata;
  if (known.isPlain?.(event.data) === true) return { type: event.type, data: event.data, occurredAt };
  const parsed = known.data.safeParse(event.data);
  if (!parsed.success) {
    const first = parsed.error.issues[0];
    throw new UnprojectableEventError(
      event,
      `${first?.path.join('.') ?? ''}: ${first?.message ?? 'invalid data'}`,
    );
  }
  return { type: event.type, data: parsed.data, occurredAt };
};
