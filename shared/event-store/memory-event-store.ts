import { isoTimestamp, systemClock, type Clock } from '../async/clock.ts';
import { appendLimits, encodeAppend, type AppendRequest } from './append-request.ts';
import { parsePosition, printPosition } from './dense-position.ts';
import {
  isWanted,
  EventStoreUnavailableError,
  WrongExpectedRevisionError,
  type AppendResult,
  type EventStore,
  type ReadStreamOptions,
  type RecordedEvent,
} from './event-store.ts';
import { followedDenseLog, type DenseLog } from './dense-log.ts';
import { createLogReach } from './log-reach.ts';
import { createSharedTail } from './shared-tail.ts';
import { subscribeToLog } from './subscribe-to-log.ts';

/** Defined by the port. */
const REPEAT_REACH = 1_000;

type Log = readonly RecordedEvent[];

const suspectedStart = (append: AppendRequest, stream: Log): number | undefined => {
  const current = stream.length - 1;
  const { expected } = append;
  if (expected === 'any') {
    const firstId = append.events[0]?.id;
    const revision = stream.findLastIndex((event) => event.id === firstId);
    return revision >= 0 && revision > current - REPEAT_REACH ? revision : undefined;
  }
  const expectedLast = expected === 'no-stream' ? -1 : expected;
  return expectedLast < current ? expectedLast + 1 : undefined;
};

const isRepeat = (append: AppendRequest, stream: Log, start: number): boolean =>
  append.events.every((event, index) => stream[start + index]?.id === event.id);

/** Undefined if the append is new. @throws WrongExpectedRevisionError */
const judge = (append: AppendRequest, stream: Log): RecordedEvent | undefined => {
  const current = stream.length - 1;
  const start = suspectedStart(append, stream);
  if (start !== undefined && isRepeat(append, stream, start)) return stream[start + append.events.length - 1];
  const expected = append.expected === 'no-stream' ? -1 : append.expected;
  const accepted = expected === 'any' ? start === undefined : expected === current;
  if (accepted) return undefined;
  throw new WrongExpectedRevisionError(append.stream, append.expected, current < 0 ? 'no-stream' : current);
};

const resultOf = (last: RecordedEvent, repeated: boolean): AppendResult => ({
  revision: last.revision,
  position: last.position,
  repeated,
});

/** For tests. Events pass through JSON as in the other adapters. */
export const createMemoryEventStore = (clock: Clock = systemClock): EventStore => {
  const all: RecordedEvent[] = [];
  const streams = new Map<string, RecordedEvent[]>();
  const closing = new AbortController();
  const reach = createLogReach();

  const write = (append: AppendRequest): AppendResult => {
    const stream = streams.get(append.stream) ?? [];
    const repeated = judge(append, stream);
    if (repeated !== undefined) return resultOf(repeated, true);
    const recordedAt = isoTimestamp(clock.now());
    for (const { id, type, data, metadata } of append.events) {
      const event: RecordedEvent = {
        id,
        type,
        data: JSON.parse(data),
        metadata: JSON.parse(metadata),
        stream: append.stream,
        revision: stream.length,
        position: printPosition(all.length + 1),
        recordedAt,
      };
      stream.push(event);
      all.push(event);
    }
    streams.set(append.stream, stream);
    reach.advance(all.length);
    return resultOf(stream.at(-1) as RecordedEvent, false);
  };

  const readPage: DenseLog['readPage'] = async (after, { limit, ...filter }) => {
    const page = all.slice(after, after + limit);
    return {
      events: page.filter((event) => isWanted(filter, event)),
      count: page.length,
      last: page.length === 0 ? 0 : after + page.length,
      bytes: 0,
      atEnd: after + page.length >= all.length,
    };
  };
  const source = followedDenseLog({
    reach,
    onReadFailed: () => undefined,
    readPage,
    head: async () => all.length,
  });
  const tail = createSharedTail(source);

  return {
    appendBytesMax: appendLimits.appendBytesMax,
    append: async (stream, events, expected) => {
      if (closing.signal.aborted) throw new EventStoreUnavailableError('the event store is closed');
      return write(encodeAppend(stream, events, expected));
    },
    readStream: (stream, options) => readStream(streams.get(stream) ?? [], options),
    readAll: async ({ after, limit }) => all.slice(parsePosition(after)).slice(0, limit),
    subscribeToAll: (options) =>
      subscribeToLog(source, tail, {
        ...options,
        signal: AbortSignal.any([options.signal, closing.signal]),
      }),
    head: async () => printPosition(all.length),
    distance: (from, to) => parsePosition(to) - parsePosition(from),
    distanceUnit: 'events',
    ensurePositionRecorded: async () => undefined,
    close: async () => closing.abort(),
  };
};

async function* readStream(stream: Log, options: ReadStreamOptions = {}): AsyncGenerator<RecordedEvent> {
  const { direction = 'forward', limit = Infinity } = options;
  const step = direction === 'forward' ? 1 : -1;
  const last = stream.length - 1;
  let revision = options.from ?? (direction === 'forward' ? 0 : last);
  if (direction === 'backward') revision = Math.min(revision, last);
  for (let given = 0; given < limit; given += 1, revision += step) {
    const event = stream[revision];
    if (event === undefined) return;
    yield event;
  }
}
