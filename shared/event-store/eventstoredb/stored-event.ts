import {
  jsonEvent,
  type AllStreamResolvedEvent,
  type EventData,
  type ResolvedEvent,
} from '@eventstore/db-client';
import type { EncodedEvent } from '../append-request.ts';
import type { EventMetadata, JsonObject, RecordedEvent } from '../event-store.ts';
import { printPosition } from './log-position.ts';

/**
 * Member of the stored metadata with the unique name of the `append` call that wrote the event. The server answers a
 * repeat like the first append, so only the stored name identifies the call.
 */
const ATTEMPT = 'appendAttempt';

/**
 * Converts events for the client. `data` is a new value parsed from text, so that later changes by the caller cannot
 * break the client's serialisation: that would leave its promise pending forever. Metadata is sent as bytes.
 */
export const toEventData = (events: readonly EncodedEvent[], attempt: string): EventData[] =>
  events.map(({ id, type, data, metadata }) =>
    jsonEvent({
      id,
      type,
      data: JSON.parse(data) as Record<string, unknown>,
      metadata: Buffer.from(withAttempt(metadata, attempt)),
    }),
  );

const withAttempt = (metadata: string, attempt: string): string =>
  `${metadata.slice(0, -1)},"${ATTEMPT}":${JSON.stringify(attempt)}}`;

/** Bytes that the server counts for an event: payload, and its type in UTF-16. */
export const storedBytes = ({ type, data, metadata }: EncodedEvent, attempt: string): number =>
  Buffer.byteLength(data) + Buffer.byteLength(withAttempt(metadata, attempt)) + 2 * type.length;

type StoredEvent = ResolvedEvent | AllStreamResolvedEvent;

/** @returns undefined for foreign events: system events, links, and events without this service's metadata */
export const toRecordedEvent = ({ event }: StoredEvent): RecordedEvent | undefined => {
  if (event === undefined || isSystem(event.streamId) || isSystem(event.type)) return undefined;
  const metadata = metadataOf(event.metadata);
  if (!event.isJson || metadata === undefined) return undefined;
  return {
    id: event.id,
    type: event.type,
    data: event.data as JsonObject,
    metadata,
    stream: event.streamId,
    revision: Number(event.revision),
    position: printPosition(event.position),
    recordedAt: event.created.toISOString(),
  };
};

const isSystem = (name: string): boolean => name.startsWith('$');

const metadataOf = (stored: unknown): EventMetadata | undefined => {
  if (typeof stored !== 'object' || stored === null || !('customerId' in stored)) return undefined;
  const { [ATTEMPT]: _, ...metadata } = stored as EventMetadata & { readonly [ATTEMPT]?: string };
  return metadata;
};

/** Returns the name of the `append` call that wrote this event. */
export const attemptOf = ({ event }: StoredEvent): string | undefined => {
  const stored: unknown = event?.metadata;
  if (typeof stored !== 'object' || stored === null || !(ATTEMPT in stored)) return undefined;
  return String(stored[ATTEMPT]);
};
