import {
  jsonEvent,
  type AllStreamResolvedEvent,
  type EventData,
  type ResolvedEvent,
} from '@eventstore/db-client';
import type { EncodedEvent } from '../append-request.ts';
import type { EventMetadata, JsonObject, RecordedEvent } from '../event-store.ts';
import { printPosition } from './log-position.ts';

/** Name of the `append` call: the server answers a repeat like the first append. */
const ATTEMPT = 'appendAttempt';

/** A new `data`: a later change by the caller could leave the client's promise pending forever. */
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

/** Payload, and the type in UTF-16: as the server counts. */
export const storedBytes = ({ type, data, metadata }: EncodedEvent, attempt: string): number =>
  Buffer.byteLength(data) + Buffer.byteLength(withAttempt(metadata, attempt)) + 2 * type.length;

type StoredEvent = ResolvedEvent | AllStreamResolvedEvent;

/** Undefined for system events, links, and events without this service's metadata. */
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

export const attemptOf = ({ event }: StoredEvent): string | undefined => {
  const stored: unknown = event?.metadata;
  if (typeof stored !== 'object' || stored === null || !(ATTEMPT in stored)) return undefined;
  return String(stored[ATTEMPT]);
};
