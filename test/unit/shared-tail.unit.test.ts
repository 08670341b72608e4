import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { printPosition } from '../../shared/event-store/dense-position.ts';
import {
  categoryOf,
  comparePositions,
  LogGapError,
  START,
  type EventBatch,
  type Position,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import type { FollowedLog, LogPiece } from '../../shared/event-store/followed-log.ts';
import { createSharedTail, type TailLimits } from '../../shared/event-store/shared-tail.ts';
import { subscribeToLog } from '../../shared/event-store/subscribe-to-log.ts';
import { sampleEvent } from '../contract/sample-events.ts';

const CATEGORIES = ['apple', 'pear', 'fig'];

/** An event, or an internal record of the server. */
interface LogRecord {
  readonly position: Position;
  readonly event?: RecordedEvent;
}

/** Each read takes as many iterations of the event loop as `iterations` returns. */
class ToyLog implements FollowedLog {
  readonly onReadFailed = (): void => undefined;
  readonly records: LogRecord[] = [];
  /** Concurrent reads of the tail: now, and at most. */
  following = 0;
  followingMax = 0;
  pieces = 0;
  pages = 0;
  failNext = 0;
  #iterations: () => number;
  #waiting = new Set<() => void>();

  constructor(iterations: () => number = () => 0) {
    this.#iterations = iterations;
  }

  /** @param category undefined for an internal record */
  add(category: string | undefined): void {
    const n = this.records.length + 1;
    const position = printPosition(n);
    const event =
      category === undefined
        ? {}
        : { event: { ...sampleEvent(), stream: `${category}-${n}`, revision: 0, position, recordedAt: '' } };
    this.records.push({ position, ...event });
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  get end(): Position {
    return this.records.at(-1)?.position ?? START;
  }

  eventsOf(after: Position, categories: readonly string[] | undefined): readonly RecordedEvent[] {
    return this.records.flatMap(({ position, event }) =>
      event !== undefined &&
      comparePositions(position, after) > 0 &&
      (categories === undefined || categories.includes(categoryOf(event.stream)))
        ? [event]
        : [],
    );
  }

  async #read(after: Position, limit: number, categories?: readonly string[]): Promise<LogPiece> {
    const from = after === START ? 0 : Number(after);
    const records = this.records.slice(from, from + limit);
    const caughtUp = from + limit >= this.records.length;
    for (let iterations = this.#iterations(); iterations > 0; iterations -= 1) await nextTurn();
    if (this.failNext > 0) {
      this.failNext -= 1;
      throw new Error('the log does not answer');
    }
    const events = records.flatMap(({ event }) => (event === undefined ? [] : [event]));
    return {
      events: events.filter(({ stream }) => categories?.includes(categoryOf(stream)) ?? true),
      position: records.at(-1)?.position ?? after,
      caughtUp,
      bytes: records.length * 10,
    };
  }

  readPage: FollowedLog['readPage'] = async ({ after, limit, categories }) => {
    this.pages += 1;
    return this.#read(after, limit, categories);
  };

  async *follow(after: Position, signal: AbortSignal): AsyncGenerator<LogPiece> {
    this.following += 1;
    this.followingMax = Math.max(this.followingMax, this.following);
    signal.addEventListener('abort', () => (this.following -= 1), { once: true });
    for (let position = after; !signal.aborted;) {
      const piece = await this.#read(position, 1 + this.#iterations()).catch(() => undefined);
      if (piece === undefined) continue;
      if (piece.position !== position) {
        this.pieces += 1;
        ({ position } = piece);
        yield piece;
      }
      if (comparePositions(position, this.end) >= 0) {
        await new Promise<void>((resolve) => {
          this.#waiting.add(resolve);
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
      }
    }
  }
}

interface ReaderPlan {
  /** The number of initial events that it skips. */
  readonly start: number;
  readonly categories: readonly string[] | undefined;
  readonly batchSize: number;
  /** Iterations that each batch takes, repeated; milliseconds with `isSlow`. */
  readonly pauses: readonly number[];
  readonly isSlow: boolean;
  /** It is killed after every `killAfter` batches. Its last batch is then lost or committed. */
  readonly killAfter: number | undefined;
  readonly isLastLost: boolean;
}

const readerPlans = fc.record<ReaderPlan>({
  start: fc.nat(30),
  categories: fc.option(fc.subarray(CATEGORIES), { nil: undefined }),
  batchSize: fc.integer({ min: 1, max: 20 }),
  pauses: fc.array(fc.nat(6), { minLength: 1, maxLength: 5 }),
  isSlow: fc.boolean(),
  killAfter: fc.option(fc.integer({ min: 2, max: 6 }), { nil: undefined }),
  isLastLost: fc.boolean(),
});

const schedules = fc.record({
  limits: fc.record<TailLimits>({
    eventsMax: fc.integer({ min: 1, max: 30 }),
    bytesMax: fc.integer({ min: 10, max: 400 }),
    slowReaderMs: fc.nat(3),
  }),
  before: fc.nat(30),
  /** Bursts of events that are appended while the readers follow. */
  appended: fc.array(fc.array(fc.nat(CATEGORIES.length), { maxLength: 25 }), { maxLength: 20 }),
  iterations: fc.array(fc.nat(4), { minLength: 1, maxLength: 7 }),
  readers: fc.array(readerPlans, { minLength: 1, maxLength: 7 }),
  failures: fc.array(fc.nat(20), { maxLength: 3 }),
});

/** Stores events and checkpoint together, like a read model. @returns the stored events */
const follow = async (
  log: ToyLog,
  tail: ReturnType<typeof createSharedTail>,
  plan: ReaderPlan,
  isDone: (position: Position) => boolean,
): Promise<readonly RecordedEvent[]> => {
  const stored: RecordedEvent[] = [];
  const first = printPosition(Math.min(plan.start, log.records.length));
  let position = first;
  let batches = 0;
  while (!isDone(position)) {
    const ended = new AbortController();
    const { batchSize, categories } = plan;
    const filter = categories === undefined ? {} : { filter: { categories } };
    const options = { after: position, batchSize, ...filter, signal: ended.signal };
    const batchesOf = subscribeToLog(log, tail, options)[Symbol.asyncIterator]();
    for (;;) {
      const { done, value: batch } = await batchesOf.next();
      if (done === true) break;
      const pause = plan.pauses[batches % plan.pauses.length] ?? 0;
      if (plan.isSlow) await delay(pause);
      else for (let iterations = pause; iterations > 0; iterations -= 1) await nextTurn();
      batches += 1;
      expect(batch.events.length).toBeLessThanOrEqual(batchSize);
      const isKilled = plan.killAfter !== undefined && batches % plan.killAfter === 0;
      if (!isKilled || !plan.isLastLost) {
        stored.push(...batch.events);
        ({ position } = batch);
      }
      if (isKilled || isDone(position)) break;
    }
    // A killed reader does not end its iteration: only its signal is aborted.
    ended.abort();
  }
  expect(stored.map(({ position: at }) => at)).toEqual(
    log.eventsOf(first, plan.categories).map(({ position: at }) => at),
  );
  return stored;
};

describe('a tail that several subscribers share', () => {
  it('given slow, killed and late subscribers, then each receives every event once and in order', async () => {
    await fc.assert(
      fc.asyncProperty(schedules, async ({ limits, before, appended, iterations, readers, failures }) => {
        let asked = 0;
        const log = new ToyLog(() => iterations[(asked += 1) % iterations.length] ?? 0);
        const tail = createSharedTail(log, limits);
        for (let n = 0; n < before; n += 1) log.add(CATEGORIES[n % CATEGORIES.length]);
        let isWritten = false;
        const isDone = (position: Position): boolean => isWritten && comparePositions(position, log.end) >= 0;
        const following = readers.map((plan) => follow(log, tail, plan, isDone));
        for (const [n, burst] of appended.entries()) {
          if (failures.includes(n)) log.failNext += 1;
          for (const category of burst) log.add(CATEGORIES[category]);
          await nextTurn();
        }
        isWritten = true;
        // A final event, so that every reader learns that it has seen all others.
        log.add('last');
        await Promise.all(following);
        expect(log.followingMax).toBeLessThanOrEqual(1);
        expect(log.following).toBe(0);
      }),
      { numRuns: Number(process.env['TAIL_SCHEDULES'] ?? 150), endOnFailure: true },
    );
  }, 600_000);

  it('is read once for any number of subscribers', async () => {
    const log = new ToyLog();
    const tail = createSharedTail(log);
    const ended = new AbortController();
    const seen = Array.from({ length: 20 }, () => 0);
    const following = seen.map(async (_, n) => {
      for await (const { events } of subscribeToLog(log, tail, { after: START, signal: ended.signal })) {
        seen[n] = (seen[n] ?? 0) + events.length;
      }
    });
    await nextTurn();
    const pages = log.pages;
    for (let n = 0; n < 50; n += 1) {
      log.add('apple');
      await nextTurn();
    }
    while (seen.some((count) => count < 50)) await nextTurn();
    expect([pages, log.pages, log.pieces, log.followingMax]).toEqual([20, 20, 50, 1]);
    ended.abort();
    await Promise.all(following);
    expect(log.following).toBe(0);
  });

  it('waits for its slowest reader, and drops it when it takes too long', async () => {
    const log = new ToyLog();
    const slowReaderMs = 150;
    const tail = createSharedTail(log, { eventsMax: 10, bytesMax: 1_000_000, slowReaderMs });
    const ended = new AbortController();
    const { signal } = ended;
    const quick: EventBatch[] = [];
    const following = (async () => {
      for await (const batch of subscribeToLog(log, tail, { after: START, signal })) quick.push(batch);
    })();
    const stuck = subscribeToLog(log, tail, { after: START, signal })[Symbol.asyncIterator]();
    await stuck.next();
    const joined = stuck.next();
    await nextTurn();
    log.add('apple');
    await joined;
    for (let n = 0; n < 40; n += 1) log.add('apple');
    for (let iterations = 0; iterations < 20; iterations += 1) await nextTurn();
    // One event that the slow reader received, ten buffered events, and one piece above the limit.
    expect(log.pieces).toBe(12);
    while (log.pieces < 41) await delay(5);
    const eventsOf = (batches: readonly EventBatch[]) => batches.flatMap(({ events }) => events);
    while (eventsOf(quick).length < 41) await delay(5);
    const rest = (await stuck.next()).value as EventBatch;
    expect(rest).toMatchObject({ caughtUp: true, position: log.end });
    expect(rest.events).toEqual(log.eventsOf(printPosition(1), undefined));
    ended.abort();
    await following;
  });

  it('references no event after its last reader has left', async () => {
    const position = printPosition(1);
    const followOne: FollowedLog['follow'] = async function* (_, signal) {
      const event = { ...sampleEvent(), stream: 'apple-1', revision: 0, position, recordedAt: '' };
      yield { events: [event], position, caughtUp: true, bytes: 10 };
      await delay(60_000, undefined, { signal }).catch(() => undefined);
    };
    const tail = createSharedTail(Object.assign(new ToyLog(), { follow: followOne }));
    const readOne = async (): Promise<WeakRef<RecordedEvent>> => {
      const { signal } = new AbortController();
      const reader = tail.join({ after: START, batchSize: 10, categories: undefined, signal });
      const batch = await reader?.next();
      reader?.leave();
      return new WeakRef(batch?.events[0] as RecordedEvent);
    };
    const read = await readOne();
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    await delay(10);
    collect();
    expect(read.deref()).toBeUndefined();
    // Keeps the tail reachable during the collection.
    expect(tail.join).toBeDefined();
  });

  it('fails for all subscribers if the log has a gap, and can be followed again', async () => {
    const log = new ToyLog();
    const { follow: followLog } = log;
    let isBroken = true;
    log.follow = async function* (...asked) {
      if (isBroken) throw new LogGapError('a position is missing');
      yield* followLog.apply(log, asked);
    };
    const tail = createSharedTail(log);
    const subscribe = async (): Promise<number> => {
      const ended = new AbortController();
      for await (const { events } of subscribeToLog(log, tail, { after: START, signal: ended.signal })) {
        if (events.length > 0) return events.length;
      }
      return 0;
    };
    const refused = await Promise.allSettled([subscribe(), subscribe(), subscribe()]);
    expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    isBroken = false;
    const seen = [subscribe(), subscribe()];
    await nextTurn();
    log.add('apple');
    expect(await Promise.all(seen)).toEqual([1, 1]);
  });
});
