import type { z } from 'zod';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import {
  currentData,
  UnknownEventVersionError,
  type EventVersions,
} from '../../shared/aggregate/event-versions.ts';
import { check, sentenceOf } from '../../shared/http/problems.ts';
import { UnprojectableEventError } from './projection.ts';

interface EventSchema extends EventVersions {
  readonly data: z.ZodType;
  /** A fast check for large data: true if it matches the schema. After false the schema decides. */
  readonly isPlain?: (data: unknown) => boolean;
}

export type EventSchemas = Readonly<Record<string, EventSchema>>;

export interface DecodedEvent {
  readonly type: string;
  readonly data: unknown;
  readonly occurredAt: string;
}

/** @throws UnprojectableEventError for unknown types and versions (a newer program's), and invalid data */
export const decodeEvent = (event: RecordedEvent, schemas: EventSchemas): DecodedEvent => {
  const known = Object.hasOwn(schemas, event.type) ? schemas[event.type] : undefined;
  if (known === undefined) throw new UnprojectableEventError(event, 'unknown event type');
  const {
    type,
    metadata: { occurredAt },
  } = event;
  const data = upcasted(event, known);
  if (known.isPlain?.(data) === true) return { type, data, occurredAt };
  const checked = check(known.data, data);
  if (checked.problems !== undefined) {
    throw new UnprojectableEventError(event, sentenceOf(checked.problems[0], 'The data'));
  }
  return { type, data: checked.value, occurredAt };
};

const upcasted = (event: RecordedEvent, known: EventSchema): unknown => {
  try {
    return currentData(event, known);
  } catch (error) {
    if (!(error instanceof UnknownEventVersionError)) throw error;
    throw new UnprojectableEventError(event, `unknown schema version ${event.metadata.schemaVersion}`);
  }
};
