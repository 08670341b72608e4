import type { EventMetadata, JsonObject, RecordedEvent } from '../event-store/event-store.ts';

/**
 * Raises the data of one version of an event to those of the next. Pure: nothing but the data counts, so that every
 * replay comes to the same.
 */
export type Upcaster = (data: JsonObject) => JsonObject;

/** An event type as the log knows it. */
export interface EventVersions {
  /** Version that is written now, from 1. */
  readonly schemaVersion: number;
  /** One for each version but the last: the first raises version 1 to 2. Default: none. */
  readonly upcasters?: readonly Upcaster[];
}

/** Versions by event type; a type that is missing here cannot be stored. */
export type SchemaVersions = Readonly<Record<string, EventVersions>>;

/** What of a recorded event its version decides about. */
interface VersionedEvent extends Pick<RecordedEvent, 'type' | 'data' | 'stream' | 'revision'> {
  readonly metadata: Pick<EventMetadata, 'schemaVersion'>;
}

/**
 * An event is of a version that this program does not know: a newer one wrote it, and this one runs beside it or was
 * put back. Whatever was decided or shown without it would be wrong.
 */
export class UnknownEventVersionError extends Error {
  override readonly name = 'UnknownEventVersionError';

  constructor({ type, stream, revision, metadata }: VersionedEvent) {
    super(`unknown schema version ${metadata.schemaVersion} of ${type} (${stream}@${revision})`);
  }
}

/**
 * The data of a recorded event in the version that is written now, whichever it was stored in. What is stored stays
 * as it is. Data that no command would write any more pass: commands are checked, never events.
 * @throws UnknownEventVersionError for a version that is newer than `schemaVersion`, or none
 */
export const currentData = (
  event: VersionedEvent,
  { schemaVersion, upcasters = [] }: EventVersions,
): JsonObject => {
  const { schemaVersion: stored } = event.metadata;
  if (stored === schemaVersion) return event.data;
  if (!Number.isSafeInteger(stored) || stored < 1 || stored > schemaVersion) {
    throw new UnknownEventVersionError(event);
  }
  return upcasters.slice(stored - 1, schemaVersion - 1).reduce((data, upcast) => upcast(data), event.data);
};
