import type { ExpectedRevision, NewEvent } from './event-store.ts';

/** The same for every adapter, so that all accept the same events. Bytes of UTF-8. */
export const appendLimits = {
  eventsMax: 1_000,
  /** EventStoreDB's record limit (eventstoredb.md section 1). */
  eventBytesMax: 16 * 1024 * 1024,
  appendBytesMax: 32 * 1024 * 1024,
  /** The name must fit into an index entry. */
  streamCharsMax: 512,
  typeCharsMax: 256,
} as const;

export interface EncodedEvent {
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
}

export interface AppendRequest {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly customerId: number;
  readonly events: readonly EncodedEvent[];
  readonly bytes: number;
  /** Updates the account's position for high-volume events instead of its general position. */
  readonly hasOwnPositions?: boolean;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Postgres rejects U+0000 and changes lone surrogates. `JSON.stringify` escapes both in `data`. */
const UNSTORABLE = /[\0\p{Surrogate}]/u;

const check = (ok: boolean, complaint: string): void => {
  if (!ok) throw new RangeError(complaint);
};

const checkName = (what: string, name: string, charsMax: number): void =>
  check(name.length > 0 && name.length <= charsMax && !UNSTORABLE.test(name), `${what} cannot be stored`);

/** @throws RangeError for a violated limit, TypeError for data that is not JSON: bugs of the caller */
export const encodeAppend = (
  stream: string,
  events: readonly NewEvent[],
  expected: ExpectedRevision,
): AppendRequest => {
  checkName('stream name', stream, appendLimits.streamCharsMax);
  check(
    expected === 'any' || expected === 'no-stream' || (Number.isSafeInteger(expected) && expected >= 0),
    `not an expected revision: ${expected}`,
  );
  const customerId = events[0]?.metadata.customerId;
  check(events.length <= appendLimits.eventsMax, `more than ${appendLimits.eventsMax} events in one append`);
  if (customerId === undefined) throw new RangeError('an append needs at least one event');
  check(Number.isSafeInteger(customerId), 'customerId must be an integer');
  let bytes = 0;
  const encoded = events.map((event) => {
    checkName('event type', event.type, appendLimits.typeCharsMax);
    check(UUID.test(event.id), 'an event id must be a UUID in lower case');
    check(event.metadata.customerId === customerId, 'the events of one append belong to one account');
    const data = JSON.stringify(event.data);
    const metadata = JSON.stringify(event.metadata);
    const eventBytes = Buffer.byteLength(data) + Buffer.byteLength(metadata);
    check(eventBytes <= appendLimits.eventBytesMax, `an event of ${eventBytes} bytes is too large`);
    bytes += eventBytes;
    return { id: event.id, type: event.type, data, metadata };
  });
  check(bytes <= appendLimits.appendBytesMax, `an append of ${bytes} bytes is too large`);
  return { stream, expected, customerId, events: encoded, bytes };
};
