import type { JsonObject, NewEvent, RecordedEvent } from '../event-store/event-store.ts';
import { eventIdOf } from './ids.ts';
import type { CommandContext } from './command-context.ts';
import { currentData, type SchemaVersions } from './event-versions.ts';

/** What the log needs of a domain event. Structural, so that the kernel stays free of the domain. */
export interface StorableEvent {
  readonly type: string;
  readonly data: unknown;
  readonly occurredAt: string;
}

/**
 * Domain events as the log takes them: ids from the command, metadata from its context.
 * @param firstOrdinal how many events of the command came before these
 */
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

/**
 * A recorded event as its decider knows it: in the current version. A type that it does not know stays as it is.
 * @throws UnknownEventVersionError
 */
export const toDomainEvent = (recorded: RecordedEvent, versions: SchemaVersions): StorableEvent => {
  const version = Object.hasOwn(versions, recorded.type) ? versions[recorded.type] : undefined;
  return {
    type: recorded.type,
    data: version === undefined ? recorded.data : currentData(recorded, version),
    occurredAt: recorded.metadata.occurredAt,
  };
};
