/**
 * The port for all access to the event log. Adapters: `memory-event-store.ts` (tests), `postgres/` (default) and
 * `eventstoredb/`. All pass `test/contract/event-store.contract.ts`.
 */

/** JSON that survives a round trip: no `undefined`, no functions. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [member: string]: JsonValue;
}

export interface EventMetadata {
  /** The account that owns the event, and the tenant of all read model rows derived from it. */
  readonly customerId: number;
  /** `api-key:<id>`, `operator` or `worker:<name>`. Never a secret. */
  readonly actor: string;
  readonly requestId: string;
  /** Shared by all events that result from one request, directly or indirectly. */
  readonly correlationId: string;
  /** The id of the command or event that directly caused this event. */
  readonly causationId: string;
  /** Time of the decision, by the deciding server's clock: ISO 8601, UTC, milliseconds. */
  readonly occurredAt: string;
  /** Version of the event type's schema, from 1. */
  readonly schemaVersion: number;
}

export interface NewEvent {
  /** UUID. Derived from the command (`shared/aggregate/ids.ts`), so a repeated command produces the same ids. */
  readonly id: string;
  readonly type: string;
  readonly data: JsonObject;
  readonly metadata: EventMetadata;
}

/**
 * A position in the whole log. Opaque: only compare (`comparePositions`), store and print it. The text order of an
 * adapter's positions is the order of the log (`COLLATE "C"` in SQL).
 */
export type Position = string & { readonly __brand: 'Position' };

export const START = '-' as Position;

/** Negative, zero or positive if `a` is before, at or after `b`. Positions of different adapters are not comparable. */
export const comparePositions = (a: Position, b: Position): number => (a < b ? -1 : a > b ? 1 : 0);

export interface RecordedEvent extends NewEvent {
  readonly stream: string;
  /** Index within the stream, from 0, without gaps. */
  readonly revision: number;
  readonly position: Position;
  /** Time of recording, by the store's clock: ISO 8601, UTC. */
  readonly recordedAt: string;
}

/** Precondition of an append: the exact last revision, `no-stream` (the stream must not exist), or `any`. */
export type ExpectedRevision = number | 'no-stream' | 'any';

export interface AppendResult {
  /** Revision of the last event of this append; for a repeat, of the original append. */
  readonly revision: number;
  /** Position of the last event of this append; for a repeat, of the original append. */
  readonly position: Position;
  /** True if the events were already in the log and this call wrote nothing. */
  readonly repeated: boolean;
}

export interface AppendOptions {
  /**
   * Returns whether another call of `append` may have sent the same event ids: an earlier run of the command with an
   * unknown outcome, or a concurrent run in another process. A store whose log does not report repeats calls this after
   * the log has accepted the events. Unless the result is false, the store reads the events back. So `false` must hold
   * at the moment of the call. Default: true.
   */
  readonly mayBeRepeat?: () => Promise<boolean>;
}

/** The stream was not at the expected revision. Nothing was written. */
export class WrongExpectedRevisionError extends Error {
  override readonly name = 'WrongExpectedRevisionError';
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly actual: number | 'no-stream';

  constructor(stream: string, expected: ExpectedRevision, actual: number | 'no-stream') {
    super(`stream ${stream} is at ${actual}, expected ${expected}`);
    this.stream = stream;
    this.expected = expected;
    this.actual = actual;
  }
}

/**
 * The store did not answer, or the connection was lost after the request was sent: the events may or may not be in the
 * log. Repeat the append with the same ids and expected revision.
 */
export class AppendOutcomeUnknownError extends Error {
  override readonly name = 'AppendOutcomeUnknownError';
}

/** The store is unreachable, or rejected the work before it started. Nothing was written. */
export class EventStoreUnavailableError extends Error {
  override readonly name: string = 'EventStoreUnavailableError';
}

/** The append exceeds the store's limit. Nothing was written. See `append-in-chunks.ts`. */
export class AppendTooLargeError extends EventStoreUnavailableError {
  override readonly name = 'AppendTooLargeError';
  /** The store's limit in bytes, if it reported one. */
  readonly bytesMax: number | undefined;

  constructor(message: string, bytesMax?: number, cause?: unknown) {
    super(message, { cause });
    this.bytesMax = bytesMax;
  }
}

export interface ReadStreamOptions {
  /** First revision to return, inclusive. Default: 0 forward, the last revision backward. */
  readonly from?: number;
  readonly direction?: 'forward' | 'backward';
  /** Maximum number of events. Default: all. */
  readonly limit?: number;
}

export interface ReadAllOptions {
  /** Returns events after this position, exclusive. */
  readonly after: Position;
  /** Maximum number of events, 1 to 10,000. */
  readonly limit: number;
}

/** Selects streams by category: the part of a stream's name before its first `-`. */
export interface SubscriptionFilter {
  readonly categories: readonly string[];
}

export interface SubscribeOptions {
  /** Returns events after this position, exclusive. */
  readonly after: Position;
  readonly filter?: SubscriptionFilter;
  /** Maximum number of events in a batch, 1 to 10,000. Default: 1,000. */
  readonly batchSize?: number;
  /** Ends the subscription: the iterable finishes without an error. */
  readonly signal: AbortSignal;
}

export interface EventBatch {
  /** In log order; may be empty if the filter excluded all events. */
  readonly events: readonly RecordedEvent[];
  /** All events up to and including this position were considered: the subscriber's next checkpoint. */
  readonly position: Position;
  /** True if the log ended at `position` when the batch was read or, for pushed events, no later event had arrived. */
  readonly caughtUp: boolean;
}

export type DistanceUnit = 'events' | 'bytes';

export interface EventStore {
  /** Size in bytes up to which every append is accepted. See `append-in-chunks.ts`. */
  readonly appendBytesMax: number;

  /**
   * Appends `events` (1 to 1,000) to one stream, all or none. A repeat with the same ids and expected revision returns
   * the first result with `repeated: true`. For `any`, the store searches the last 1,000 events of the stream for the
   * first id, and uses its last occurrence (the id can occur again after an append at an exact revision). If the other
   * events do not follow there, it is a conflict.
   * @throws WrongExpectedRevisionError, AppendOutcomeUnknownError, EventStoreUnavailableError
   */
  append(
    stream: string,
    events: readonly NewEvent[],
    expected: ExpectedRevision,
    options?: AppendOptions,
  ): Promise<AppendResult>;

  /** Returns the events of a stream in order, read in pages. A stream that does not exist has no events. */
  readStream(stream: string, options?: ReadStreamOptions): AsyncIterable<RecordedEvent>;

  /** Returns one page of the whole log, in order; empty at the end of the log. */
  readAll(options: ReadAllOptions): Promise<readonly RecordedEvent[]>;

  /**
   * Follows the log from a position until the signal aborts. The subscribers of a store share one reader of the log's
   * end (docs/design/records/0011-one-tail.md), so they receive the same event objects and must not change them. Reading is
   * lazy: a slow subscriber delays the others once, by at most 200 ms. Reconnects with bounded back-off. Within a
   * subscription, no event is skipped or delivered twice.
   * @throws LogGapError when the position is ahead of the log, or a position is missing
   */
  subscribeToAll(options: SubscribeOptions): AsyncIterable<EventBatch>;

  /** Returns the position of the last event; `START` for an empty log. */
  head(): Promise<Position>;

  /**
   * Returns the size of the log after `from`, up to `to`, for lag figures. Negative if the log does not reach `from`.
   */
  distance(from: Position, to: Position): number;

  /** Unit of `distance`: events if positions are dense, otherwise bytes of the store's log. */
  readonly distanceUnit: DistanceUnit;

  /**
   * Makes the account's later reads wait for `position`, as after an append. Needed for answers that are based on a
   * stream without a new append: the earlier append may have failed before it updated the account's position.
   * @throws AppendOutcomeUnknownError when this is uncertain
   */
  ensureMarked(customerId: number, position: Position, stream: string): Promise<void>;

  /** Rejects new appends, waits for pending ones (bounded), and closes all connections. */
  close(): Promise<void>;
}

/** The log does not match the subscriber's position. The subscription stops, because it would skip events. */
export class LogGapError extends Error {
  override readonly name = 'LogGapError';
}

/** Returns the category of a stream, e.g. `order` for `order-7-1001`. */
export const categoryOf = (stream: string): string => {
  const dash = stream.indexOf('-');
  return dash < 0 ? stream : stream.slice(0, dash);
};

/** Returns true if an event of the store can have this position. Use it for positions that clients send. */
export const isPosition = (store: Pick<EventStore, 'distance'>, text: string): text is Position => {
  try {
    return store.distance(START, text as Position) > 0;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
};
