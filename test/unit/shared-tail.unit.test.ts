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

/** What subscribers see of a log that they follow together: no event skipped, doubled or out of order. */

const CATEGORIES = ['apple', 'pear', 'fig'];

/** A place in the log: an event, or something of the server's own. */
interface Place {
  readonly position: Position;
  readonly event?: RecordedEvent;
}

/** A log in memory. Each read takes as many turns of the event loop as `turns` returns. */
class ToyLog implements FollowedLog {
  readonly onReadFailed = (): void => undefined;
  readonly places: Place[] = [];
  /** Readings of the tail: those under way, and the most at once. */
  following = 0;
  followingMax = 0;
  /** Pieces that the tail has asked for. */
  pieces = 0;
  pages = 0;
  failNext = 0;
  #turns: () => number;
  #waiting = new Set<() => void>();

  constructor(turns: () => number = () => 0) {
    this.#turns = turns;
  }

  /** @param category undefined for something of the server's own */
  add(category: string | undefined): void {
    const n = this.places.length + 1;
    const position = printPosition(n);
    const event =
      category === undefined
        ? {}
        : { event: { ...sampleEvent(), stream: `${category}-${n}`, revision: 0, position, recordedAt: '' } };
    this.places.push({ position, ...event });
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  get end(): Position {
    return this.places.at(-1)?.position ?? START;
  }

  eventsOf(after: Position, categories: readonly string[] | undefined): readonly RecordedEvent[] {
    return this.places.flatMap(({ position, event }) =>
      event !== undefined &&
      comparePositions(position, after) > 0 &&
      (categories === undefined || categories.includes(categoryOf(event.stream)))
        ? [event]
        : [],
    );
  }

  async #read(after: Position, limit: number, categories?: readonly string[]): Promise<LogPiece> {
    const from = after === START ? 0 : Number(after);
    const places = this.places.slice(from, from + limit);
    const caughtUp = from + limit >= this.places.length;
    for (let turns = this.#turns(); turns > 0; turns -= 1) await nextTurn();
    if (this.failNext > 0) {
      this.failNext -= 1;
      throw new Error('the log does not answer');
    }
    const events = places.flatMap(({ event }) => (event === undefined ? [] : [event]));
    return {
      events: events.filter(({ stream }) => categories?.includes(categoryOf(stream)) ?? true),
      position: places.at(-1)?.position ?? after,
      caughtUp,
      bytes: places.length * 10,
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
      const piece = await this.#read(position, 1 + this.#turns()).catch(() => undefined);
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
  /** Where it begins, of the events that are there at first. */
  readonly start: number;
  readonly categories: readonly string[] | undefined;
  readonly batchSize: number;
  /** Turns, or with `isSlow` milliseconds, that each batch takes, over and over. */
  readonly pauses: readonly number[];
  readonly isSlow: boolean;
  /** After so many batches it is killed, over and over; its last batch is then lost, or was committed. */
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
  /** What is appended while they follow, in bursts. */
  appended: fc.array(fc.array(fc.nat(CATEGORIES.length), { maxLength: 25 }), { maxLength: 20 }),
  turns: fc.array(fc.nat(4), { minLength: 1, maxLength: 7 }),
  readers: fc.array(readerPlans, { minLength: 1, maxLength: 7 }),
  failures: fc.array(fc.nat(20), { maxLength: 3 }),
});

/** What a reader has kept, as a read model does: events and checkpoint together, or neither. */
const follow = async (
  log: ToyLog,
  tail: ReturnType<typeof createSharedTail>,
  plan: ReaderPlan,
  isDone: (position: Position) => boolean,
): Promise<readonly RecordedEvent[]> => {
  const kept: RecordedEvent[] = [];
  const first = printPosition(Math.min(plan.start, log.places.length));
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
      else for (let turns = pause; turns > 0; turns -= 1) await nextTurn();
      batches += 1;
      expect(batch.events.length).toBeLessThanOrEqual(batchSize);
      const isKilled = plan.killAfter !== undefined && batches % plan.killAfter === 0;
      if (!isKilled || !plan.isLastLost) {
        kept.push(...batch.events);
        ({ position } = batch);
      }
      if (isKilled || isDone(position)) break;
    }
    // A killed reader does not end its iteration: only its signal is aborted.
    ended.abort();
  }
  expect(kept.map(({ position: at }) => at)).toEqual(
    log.eventsOf(first, plan.categories).map(({ position: at }) => at),
  );
  return kept;
};

describe('a tail that subscribers share', () => {
  it('gives each of them every event once and in order, when some are slow, killed, late or let go', async () => {
    await fc.assert(
      fc.asyncProperty(schedules, async ({ limits, before, appended, turns, readers, failures }) => {
        let asked = 0;
        const log = new ToyLog(() => turns[(asked += 1) % turns.length] ?? 0);
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
        // One more, so that who has seen all of the others sees that they were the last.
        log.add('last');
        await Promise.all(following);
        expect(log.followingMax).toBeLessThanOrEqual(1);
        expect(log.following).toBe(0);
      }),
      { numRuns: Number(process.env['TAIL_SCHEDULES'] ?? 150), endOnFailure: true },
    );
  }, 600_000);

  it('is read once, however many follow', async () => {
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

  it('reads no further than its slowest reader allows, and lets it go when that takes too long', async () => {
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
    for (let turns = 0; turns < 20; turns += 1) await nextTurn();
    // The event that it has taken, ten held events, and one piece beyond the bound.
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

  it('holds nothing of the log when its last reader has left', async () => {
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
    // The tail itself is still in use.
    expect(tail.join).toBeDefined();
  });

  it('ends for all when the log is not what it must be, and begins again', async () => {
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
