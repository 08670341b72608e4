import type { JsonObject, NewEvent, RecordedEvent } from '../event-store/event-store.ts';
import { eventIdOf } from './ids.ts';
import type { CommandContext } from './command-context.ts';
import { currentData, type SchemaVersions } from './event-versions.ts';

/** Structural, so that shared code does not import the domain. */
export interface StorableEvent {
  readonly type: string;
  readonly data: unknown;
  readonly occurredAt: string;
}

/** @param firstOrdinal number of earlier events of the same command */
export const toNewEvents = (
  events: readonly StorableEvent[],
  context: CommandContext,
  versions: SchemaVersions,
  firstOrdinal = 0,
): readonly NewEvent[] =>
  events.map((event, at) => {
    const version = versions[event.type];
    if (version === undefined) throw new Error(`no schema is registered for event type ${event.type}`);
    return {
      id: eventIdOf(context.commandId, firstOrdinal + at),
      type: event.type,
      data: event.data as JsonObject,
      metadata: {
        customerId: context.customerId,
        actor: context.actor,
        requestId: context.requestId,
        correlationId: context.correlationId ?? context.requestId,
        causationId: context.commandId,
        occurredAt: event.occurredAt,
        schemaVersion: version.schemaVersion,
      },
    };
  });

/** Leaves unknown types unchanged. @throws UnknownEventVersionError */
export const toDomainEvent = (recorded: RecordedEvent, versions: SchemaVersions): StorableEvent => {
  const version = Object.hasOwn(versions, recorded.type) ? versions[recorded.type] : undefined;
  return {
    type: recorded.type,
    data: version === undefined ? recorded.data : currentData(recorded, version),
    occurredAt: recorded.metadata.occurredAt,
  };
};
