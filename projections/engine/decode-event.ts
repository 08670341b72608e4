import type { z } from 'zod';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import {
  currentData,
  UnknownEventVersionError,
  type EventVersions,
} from '../../shared/aggregate/event-versions.ts';
import { check, sentenceOf } from '../../shared/http/problems.ts';
import { UnprojectableEventError } from './projection.ts';

/** An event type that a read model knows, with the schema of its current version. */
interface EventSchema extends EventVersions {
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
 * A recorded event as the domain knows it, in the version that is written now.
 * @throws UnprojectableEventError for a type or version this program does not know (a newer program wrote it,
 *   say) and for data that does not fit the schema
 */
export const decodeEvent = (event: RecordedEvent, schemas: EventSchemas): DecodedEvent => {
  const known = Object.hasOwn(schemas, event.type) ? schemas[event.type] : undefined;
  if (known === undefined) throw new UnprojectableEventError(event, 'unknown event type');
  const {
    type,
    metadata: { occurredAt },
  } = event;
  const data = raised(event, known);
  if (known.isPlain?.(data) === true) return { type, data, occurredAt };
  const checked = check(known.data, data);
  if (checked.problems !== undefined) {
    throw new UnprojectableEventError(event, sentenceOf(checked.problems[0], 'The data'));
  }
  return { type, data: checked.value, occurredAt };
};

const raised = (event: RecordedEvent, known: EventSchema): unknown => {
  try {
    return currentData(event, known);
  } catch (error) {
    if (!(error instanceof UnknownEventVersionError)) throw error;
    throw new UnprojectableEventError(event, `unknown schema version ${event.metadata.schemaVersion}`);
  }
};
