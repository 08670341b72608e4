import type { EventMetadata, JsonObject, RecordedEvent } from '../event-store/event-store.ts';

/** Converts data to the next schema version. Pure: every replay gives the same result. */
export type Upcaster = (data: JsonObject) => JsonObject;

export interface EventVersions {
  readonly schemaVersion: number;
  /** The first converts version 1 to 2. */
  readonly upcasters?: readonly Upcaster[];
}

/** An event of a missing type cannot be stored. */
export type SchemaVersions = Readonly<Record<string, EventVersions>>;

interface VersionedEvent extends Pick<RecordedEvent, 'type' | 'data' | 'stream' | 'revision'> {
  readonly metadata: Pick<EventMetadata, 'schemaVersion'>;
}

/** A newer program wrote the event. A decision or an answer without it would be wrong. */
export class UnknownEventVersionError extends Error {
  override readonly name = 'UnknownEventVersionError';

  constructor({ type, stream, revision, metadata }: VersionedEvent) {
    super(`unknown schema version ${metadata.schemaVersion} of ${type} (${stream}@${revision})`);
  }
}

/** Does not validate: a later rule must not make old events unreadable. @throws UnknownEventVersionError */
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
