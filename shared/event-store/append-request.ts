import type { ExpectedRevision, NewEvent } from './event-store.ts';

/** What every adapter refuses, so that an event accepted by one is accepted by all. Sizes in bytes of UTF-8. */
export const appendLimits = {
  eventsMax: 1_000,
  /** `data` and `metadata` of one event together (EventStoreDB's record limit, eventstoredb.md section 1). */
  eventBytesMax: 16 * 1024 * 1024,
  /** All events of one append together. */
  appendBytesMax: 32 * 1024 * 1024,
  /** A stream's name must fit an index entry. */
  streamCharsMax: 512,
  typeCharsMax: 256,
} as const;

export interface EncodedEvent {
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
}

/** One append, checked and serialised: nothing about it can fail any more because of what it contains. */
export interface AppendRequest {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  /** The account that all its events belong to. */
  readonly customerId: number;
  readonly events: readonly EncodedEvent[];
  readonly bytes: number;
  /** The account's mark for what comes in masses is moved, and not that of everything else. */
  readonly isMarkedApart?: boolean;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Postgres refuses U+0000 and turns lone surrogates into something else. */
const UNSTORABLE = /[\0\p{Surrogate}]/u;

const check = (ok: boolean, complaint: string): void => {
  if (!ok) throw new RangeError(complaint);
};

const checkName = (what: string, name: string, charsMax: number): void =>
  check(name.length > 0 && name.length <= charsMax && !UNSTORABLE.test(name), `${what} cannot be stored`);

/**
 * Checks and serialises an append. `JSON.stringify` escapes U+0000 and lone surrogates in `data`, so those
 * survive as they are.
 * @throws RangeError for what breaks the port's limits, TypeError for what is not JSON: both are bugs of the caller
 */
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
