/**
 * The event store port: the only way in and out of the log. Adapters: `memory-event-store.ts` (tests,
 * experiments), `postgres/` (the embedded default) and `eventstoredb/`. All pass `test/contract/event-store.contract.ts`.
 */

/** JSON as it is stored: no `undefined`, no functions, nothing that does not survive a round trip. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [member: string]: JsonValue;
}

/** Who did what, when, in which request, because of what. Written with every event. */
export interface EventMetadata {
  /** The account the event belongs to: the tenant of every read model row that follows from it. */
  readonly customerId: number;
  /** Who asked: `api-key:<id>`, `operator`, `worker:<name>`. Never a secret. */
  readonly actor: string;
  readonly requestId: string;
  /** The same for everything that follows from one request, however far down the chain. */
  readonly correlationId: string;
  /** The id of the command (or event) that directly led to this event. */
  readonly causationId: string;
  /** When the decision was made, by the deciding server's clock: ISO 8601, UTC, milliseconds. */
  readonly occurredAt: string;
  /** Version of the event type's schema that `data` follows, from 1. */
  readonly schemaVersion: number;
}

export interface NewEvent {
  /** UUID. Derived from the command (`shared/aggregate/ids.ts`), so that a repeated command repeats its ids. */
  readonly id: string;
  readonly type: string;
  readonly data: JsonObject;
  readonly metadata: EventMetadata;
}

/**
 * A place in the whole log. Opaque: only compare (`comparePositions`), store and print it. Every adapter
 * prints positions so that their order is the order of the characters (`COLLATE "C"` in SQL).
 */
export type Position = string & { readonly __brand: 'Position' };

/** Before the first event of any log. */
export const START = '-' as Position;

/** Negative, zero or positive as `a` is before, at or after `b`. Positions of two adapters do not compare. */
export const comparePositions = (a: Position, b: Position): number => (a < b ? -1 : a > b ? 1 : 0);

export interface RecordedEvent extends NewEvent {
  readonly stream: string;
  /** Place within the stream, from 0, without gaps. */
  readonly revision: number;
  readonly position: Position;
  /** When the store recorded it, by the store's clock: ISO 8601, UTC. */
  readonly recordedAt: string;
}

/**
 * What the stream must look like for an append to be accepted: an exact last revision, `no-stream`
 * (it must not exist yet), or `any`.
 */
export type ExpectedRevision = number | 'no-stream' | 'any';

export interface AppendResult {
  /** Revision of the last event of this append (of the original append when it is a repeat). */
  readonly revision: number;
  /** Position of the last event of this append (of the original append when it is a repeat). */
  readonly position: Position;
  /** True when the same event ids were already there: nothing was written this time. */
  readonly repeated: boolean;
}

/** What the caller knows about an append. */
export interface AppendOptions {
  /**
   * Whether another call of `append` may have sent the same event ids: an earlier run of the command whose outcome is
   * unknown, or another process that runs the command now. A store whose log does not report repeats calls this after the
   * log has accepted the events. Unless the answer is false, the store reads the events back. So `false` must hold at the
   * moment of the call. Default: true.
   */
  readonly mayBeRepeat?: () => Promise<boolean>;
}

/** The stream was not at the expected revision. Definite: nothing was written. */
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
 * The store did not answer, or the connection went after the request was sent: the events may or may not
 * be in the log (docs: a timeout is an unknown outcome). Repeat the same ids at the same expected revision.
 */
export class AppendOutcomeUnknownError extends Error {
  override readonly name = 'AppendOutcomeUnknownError';
}

/** The store cannot be reached or refused the work before doing any of it. Definite: nothing was written. */
export class EventStoreUnavailableError extends Error {
  override readonly name: string = 'EventStoreUnavailableError';
}

/** More than the store takes in one append. Definite: nothing was written. See `append-in-chunks.ts`. */
export class AppendTooLargeError extends EventStoreUnavailableError {
  override readonly name = 'AppendTooLargeError';
  /** The store's limit, if it said so. */
  readonly bytesMax: number | undefined;

  constructor(message: string, bytesMax?: number, cause?: unknown) {
    super(message, { cause });
    this.bytesMax = bytesMax;
  }
}

export interface ReadStreamOptions {
  /** First revision to return, inclusive. Default: 0 forward, the last one backward. */
  readonly from?: number;
  readonly direction?: 'forward' | 'backward';
  /** At most this many events. Default: all. */
  readonly limit?: number;
}

export interface ReadAllOptions {
  /** Events behind this position, exclusive. */
  readonly after: Position;
  /** At most this many events, 1 to 10,000. */
  readonly limit: number;
}

/** Which streams a subscriber wants, by category: the part of a stream's name before its first `-`. */
export interface SubscriptionFilter {
  readonly categories: readonly string[];
}

export interface SubscribeOptions {
  /** Events behind this position, exclusive. */
  readonly after: Position;
  readonly filter?: SubscriptionFilter;
  /** Events in one batch at most, 1 to 10,000. Default 1,000. */
  readonly batchSize?: number;
  /** Ends the subscription: the iterable finishes normally. */
  readonly signal: AbortSignal;
}

/** What a subscriber gets: consecutive pieces of the log. */
export interface EventBatch {
  /** In the order of the log; may be empty when a filter let nothing through. */
  readonly events: readonly RecordedEvent[];
  /** Everything up to and including this position has been considered: the subscriber's next checkpoint. */
  readonly position: Position;
  /** True when the log ended here when the batch was read; of a log that is pushed, when nothing more had arrived. */
  readonly caughtUp: boolean;
}

export type DistanceUnit = 'events' | 'bytes';

export interface EventStore {
  /** Bytes that one append should stay below: whatever is less is taken. See `append-in-chunks.ts`. */
  readonly appendBytesMax: number;

  /**
   * Appends `events` (1 to 1,000) to one stream: all of them or none.
   * A repeat of the same ids at the same expected revision answers as the first time, `repeated: true`.
   * For `any` the repeat is looked for in the last 1,000 events of the stream, by the id of its first event: where that
   * stands several times, because it was appended again at an exact revision, its last place counts. The other events
   * must follow there, else it is a conflict.
   * @throws WrongExpectedRevisionError, AppendOutcomeUnknownError, EventStoreUnavailableError
   */
  append(
    stream: string,
    events: readonly NewEvent[],
    expected: ExpectedRevision,
    options?: AppendOptions,
  ): Promise<AppendResult>;

  /**
   * The events of one stream in order, read in pages: memory does not grow with the stream. A stream that
   * does not exist has no events.
   */
  readStream(stream: string, options?: ReadStreamOptions): AsyncIterable<RecordedEvent>;

  /** One page of the whole log, in order. Empty at its end. */
  readAll(options: ReadAllOptions): Promise<readonly RecordedEvent[]>;

  /**
   * Follows the log from a position, without end. The subscribers of a store share one reading of the log's end
   * (docs/records/0011-one-tail.md): their events are the same objects, and must not be changed. The next batch is made
   * when the last one has been taken; a slow subscriber holds the others back for a fifth of a second at most, once.
   * Reconnects by itself with bounded back-off; no event is skipped or delivered twice within one subscription.
   * @throws LogGapError when the log is not what it must be (position ahead of the log, missing position)
   */
  subscribeToAll(options: SubscribeOptions): AsyncIterable<EventBatch>;

  /** The position of the last event, `START` for an empty log. */
  head(): Promise<Position>;

  /**
   * How much of the log lies between two positions (behind `from`, up to `to`), for lag figures. Negative when
   * `from` is not in the log.
   */
  distance(from: Position, to: Position): number;

  /** What `distance` counts: events where positions are dense, else bytes of the store's log. */
  readonly distanceUnit: DistanceUnit;

  /**
   * Makes sure that the account's reads wait for everything up to `position`, as those of an append do that was
   * answered. For answers that are made from a stream without appending to it: an earlier append of theirs may
   * never have been answered.
   * @throws AppendOutcomeUnknownError when that cannot be said for sure now
   */
  ensureMarked(customerId: number, position: Position, stream: string): Promise<void>;

  /** Stops taking appends, lets those under way end (bounded), and releases connections. */
  close(): Promise<void>;
}

/** The log and the subscriber do not fit: going on would skip events, so the subscription stops instead. */
export class LogGapError extends Error {
  override readonly name = 'LogGapError';
}

/** The category of a stream: `advertiser` of `advertiser-7-1001`. */
export const categoryOf = (stream: string): string => {
  const dash = stream.indexOf('-');
  return dash < 0 ? stream : stream.slice(0, dash);
};

/** Whether a text is one that an event of the store's log can have: whoever was given positions may send back anything. */
export const isPosition = (store: Pick<EventStore, 'distance'>, text: string): text is Position => {
  try {
    return store.distance(START, text as Position) > 0;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
};
