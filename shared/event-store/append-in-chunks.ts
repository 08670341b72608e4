import {
  AppendTooLargeError,
  WrongExpectedRevisionError,
  type AppendOptions,
  type AppendResult,
  type EventStore,
  type NewEvent,
} from './event-store.ts';

type Store = Pick<EventStore, 'append' | 'readStream' | 'appendBytesMax'>;
type Revision = number | 'no-stream';

const CHUNK_EVENTS_MAX = 1_000;
const EVENT_OVERHEAD_BYTES = 128;

export interface ChunkOptions extends AppendOptions {
  /** Upper bound. Default: serialises the event. */
  readonly bytesOf?: (event: NewEvent) => number;
}

/** Learned from rejected appends, if lower than `appendBytesMax`. */
const learned = new WeakMap<Store, number>();

/**
 * Readers can see the first events before the last ones exist. After a failure, repeat the call with the same
 * ids and `expected`: it skips events that are in the stream. @throws AppendTooLargeError for a single event;
 * as `EventStore.append`
 */
export const appendInChunks = async (
  store: Store,
  stream: string,
  events: readonly NewEvent[],
  expected: Revision,
  { bytesOf = measured, ...options }: ChunkOptions = {},
): Promise<AppendResult> => {
  let at = expected;
  let from = 0;
  let result: AppendResult | undefined;
  while (result === undefined || from < events.length) {
    const chunk = chunkOf(events, from, learned.get(store) ?? store.appendBytesMax, bytesOf);
    const appended = await appendChunk(store, stream, chunk, at, options);
    if (appended === 'smaller') continue;
    from += appended.count;
    at = appended.result.revision;
    result = { ...appended.result, repeated: appended.result.repeated && (result?.repeated ?? true) };
  }
  return result;
};

const appendChunk = async (
  store: Store,
  stream: string,
  chunk: readonly NewEvent[],
  at: Revision,
  options: AppendOptions,
): Promise<{ readonly result: AppendResult; readonly count: number } | 'smaller'> => {
  try {
    return { result: await store.append(stream, chunk, at, options), count: chunk.length };
  } catch (error) {
    if (error instanceof AppendTooLargeError && chunk.length > 1) {
      const half = Math.ceil(sum(chunk.map(measured)) / 2);
      learned.set(store, Math.min(half, error.bytesMax ?? half));
      return 'smaller';
    }
    if (!(error instanceof WrongExpectedRevisionError)) throw error;
    // An earlier run with other chunk sizes may have ended in the middle of this chunk.
    const count = await countThere(store, stream, chunk, at);
    if (count === 0) throw error;
    return { result: await store.append(stream, chunk.slice(0, count), at), count };
  }
};

const countThere = async (
  store: Store,
  stream: string,
  chunk: readonly NewEvent[],
  at: Revision,
): Promise<number> => {
  let count = 0;
  const from = at === 'no-stream' ? 0 : at + 1;
  for await (const { id } of store.readStream(stream, { from, limit: chunk.length })) {
    if (id !== chunk[count]?.id) break;
    count += 1;
  }
  return count;
};

const chunkOf = (
  events: readonly NewEvent[],
  from: number,
  bytesMax: number,
  bytesOf: (event: NewEvent) => number,
): readonly NewEvent[] => {
  let end = from;
  let bytes = 0;
  while (end < events.length && end - from < CHUNK_EVENTS_MAX) {
    bytes += bytesOf(events[end] as NewEvent);
    if (bytes > bytesMax && end > from) break;
    end += 1;
  }
  return events.slice(from, end);
};

const measured = ({ type, data, metadata }: NewEvent): number =>
  Buffer.byteLength(JSON.stringify(data)) +
  Buffer.byteLength(JSON.stringify(metadata)) +
  2 * type.length +
  EVENT_OVERHEAD_BYTES;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);
