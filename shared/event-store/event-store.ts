/** The port to the event log. All adapters pass `test/contract/event-store.contract.ts`. */

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [member: string]: JsonValue;
}

export interface EventMetadata {
  /** The account that owns the event, and the tenant of all rows derived from it. */
  readonly customerId: number;
  /** `api-key:<id>`, `operator` or `worker:<name>`. Never a secret. */
  readonly actor: string;
  readonly requestId: string;
  /** Shared by all events that result from one request, directly or indirectly. */
  readonly correlationId: string;
  /** Command or event that directly caused this event. */
  readonly causationId: string;
  /** By the deciding server's clock: ISO 8601, UTC, milliseconds. */
  readonly occurredAt: string;
  readonly schemaVersion: number;
  /** The span that appended it (W3C), if it was traced. */
  readonly traceparent?: string;
}

export interface NewEvent {
  /** UUID, derived from the command (`shared/aggregate/ids.ts`): a repeated command has the same ids. */
  readonly id: string;
  readonly type: string;
  readonly data: JsonObject;
  readonly metadata: EventMetadata;
}

/** In the whole log. Opaque: only compare, store and print it. Text order is log order (`COLLATE "C"`). */
export type Position = string & { readonly __brand: 'Position' };

export const START = '-' as Position;

/** Positions of different adapters are not comparable. */
export const comparePositions = (a: Position, b: Position): number => (a < b ? -1 : a > b ? 1 : 0);

export interface RecordedEvent extends NewEvent {
  readonly stream: string;
  /** Index within the stream, from 0, without gaps. */
  readonly revision: number;
  readonly position: Position;
  /** By the store's clock: ISO 8601, UTC. */
  readonly recordedAt: string;
}

export type ExpectedRevision = number | 'no-stream' | 'any';

export interface AppendResult {
  /** The last event's; for a repeat, the original append's. */
  readonly revision: number;
  readonly position: Position;
  /** The events were already in the log and this call wrote nothing. */
  readonly repeated: boolean;
}

export interface AppendOptions {
  /**
   * Whether another call may have sent the same ids (an earlier run, or a concurrent one). A store that does
   * not report repeats asks this after the log has accepted the events; unless it is false then, it reads
   * them back. Default: true.
   */
  readonly mayBeRepeat?: () => Promise<boolean>;
}

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

/** The events may or may not be in the log. Repeat the append with the same ids and expected revision. */
export class AppendOutcomeUnknownError extends Error {
  override readonly name = 'AppendOutcomeUnknownError';
}

/** The store is unreachable, or rejected the work before it started. Nothing was written. */
export class EventStoreUnavailableError extends Error {
  override readonly name: string = 'EventStoreUnavailableError';
}

/** Nothing was written. See `append-in-chunks.ts`. */
export class AppendTooLargeError extends EventStoreUnavailableError {
  override readonly name = 'AppendTooLargeError';
  readonly bytesMax: number | undefined;

  constructor(message: string, bytesMax?: number, cause?: unknown) {
    super(message, { cause });
    this.bytesMax = bytesMax;
  }
}

export interface ReadStreamOptions {
  /** Inclusive. Default: 0 forward, the last revision backward. */
  readonly from?: number;
  readonly direction?: 'forward' | 'backward';
  readonly limit?: number;
}

export interface ReadAllOptions {
  /** Exclusive. */
  readonly after: Position;
  /** 1 to 10,000. */
  readonly limit: number;
}

/** Without a member, all. A category is the part of a stream's name before its first `-`. */
export interface EventFilter {
  readonly categories?: readonly string[] | undefined;
  readonly types?: readonly string[] | undefined;
  /** Leaves out the events of this type whose data lacks the member. */
  readonly having?: { readonly type: string; readonly member: string } | undefined;
}

export interface SubscribeOptions {
  /** Exclusive. */
  readonly after: Position;
  readonly filter?: EventFilter;
  /** 1 to 10,000. Default: 1,000. */
  readonly batchSize?: number;
  readonly signal: AbortSignal;
}

export interface EventBatch {
  /** In log order; may be empty if the filter excluded all events. */
  readonly events: readonly RecordedEvent[];
  /** All events up to and including this position were considered: the subscriber's next checkpoint. */
  readonly position: Position;
  /** The log ended at `position` when the batch was read; for pushed events, no later event had arrived. */
  readonly caughtUp: boolean;
}

export type DistanceUnit = 'events' | 'bytes';

export interface EventStore {
  readonly appendBytesMax: number;

  /**
   * All or none. A repeat with the same ids and expected revision returns the first result. For `any`, the
   * store searches the last 1,000 events of the stream for the last occurrence of the first id (an append at
   * an exact revision can repeat it); if the other events do not follow there, it is a conflict.
   * @throws WrongExpectedRevisionError, AppendOutcomeUnknownError, EventStoreUnavailableError
   */
  append(
    stream: string,
    events: readonly NewEvent[],
    expected: ExpectedRevision,
    options?: AppendOptions,
  ): Promise<AppendResult>;

  /** A stream that does not exist has no events. */
  readStream(stream: string, options?: ReadStreamOptions): AsyncIterable<RecordedEvent>;

  readAll(options: ReadAllOptions): Promise<readonly RecordedEvent[]>;

  /**
   * Skips and repeats no event; reconnects automatically. The subscribers share one reader and its event
   * objects (docs/design/records/0011-one-tail.md): do not change them. A slow one delays the others once, by
   * at most 200 ms. @throws LogGapError when `after` is ahead of the log, or a position is missing
   */
  subscribeToAll(options: SubscribeOptions): AsyncIterable<EventBatch>;

  /** `START` for an empty log. */
  head(): Promise<Position>;

  /** Negative if the log does not reach `from`. */
  distance(from: Position, to: Position): number;

  /** Events if positions are dense, otherwise bytes of the store's log. */
  readonly distanceUnit: DistanceUnit;

  /**
   * The account's later reads wait for `position`. For answers without a new append: the earlier one may have
   * failed before it updated the account's position. @throws AppendOutcomeUnknownError
   */
  ensurePositionRecorded(customerId: number, position: Position, stream: string): Promise<void>;

  /** Rejects new appends and waits for pending ones (bounded). */
  close(): Promise<void>;
}

/** The log does not match the subscriber's position. Going on would skip events. */
export class LogGapError extends Error {
  override readonly name = 'LogGapError';
}

/** E.g. `order` for `order-7-1001`. */
export const categoryOf = (stream: string): string => {
  const dash = stream.indexOf('-');
  return dash < 0 ? stream : stream.slice(0, dash);
};

/** @param category default: of the event's stream */
export const isWanted = (
  { categories, types, having }: EventFilter,
  { stream, type, data }: Pick<RecordedEvent, 'stream' | 'type' | 'data'>,
  category = categoryOf(stream),
): boolean =>
  categories?.includes(category) !== false &&
  types?.includes(type) !== false &&
  (type !== having?.type || Object.hasOwn(data, having.member));

/** For positions that clients send. */
export const isPosition = (store: Pick<EventStore, 'distance'>, text: string): text is Position => {
  try {
    return store.distance(START, text as Position) > 0;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
};
