import { describe, expect, it } from '@jest/globals';
import {
  comparePositions,
  START,
  type EventStore,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import type { MakeStore } from './make-store.ts';
import { newStream, sampleEvents, takeUntil } from './sample-events.ts';
import { useStore } from './use-store.ts';
import { amount } from '../support/amount.ts';

const WRITERS = 12;
const EVENTS = amount(600, 6_000);

/** Appends 1 to 3 events at a time to ten streams of each writer. @returns the ids in the order of the appends */
const write = async (store: EventStore, events: number): Promise<Map<string, string[]>> => {
  const streams = Array.from({ length: 10 }, () => newStream('load'));
  const written = new Map(streams.map((stream) => [stream, [] as string[]]));
  for (let count = 0, turn = 0; count < events; turn += 1) {
    const stream = streams[turn % streams.length] as string;
    const known = written.get(stream) as string[];
    const batch = sampleEvents(Math.min(1 + (turn % 3), events - count));
    await store.append(stream, batch, known.length === 0 ? 'no-stream' : known.length - 1);
    known.push(...batch.map((event) => event.id));
    count += batch.length;
  }
  return written;
};

/**
 * Asserts ascending positions, without gaps where they are dense, ascending revisions in every stream, and exactly
 * the written events.
 */
export const assertOrder = (
  seen: readonly RecordedEvent[],
  written: ReadonlyMap<string, readonly string[]>,
  isDense = true,
): void => {
  const streams = new Map<string, string[]>();
  seen.forEach((event, index) => {
    const before = seen[index - 1]?.position ?? START;
    const isNext = isDense
      ? Number(event.position) === index + 1
      : comparePositions(before, event.position) < 0;
    if (!isNext) throw new Error(`${event.position} came as number ${index + 1}, after ${before}`);
    const ids = streams.get(event.stream) ?? [];
    if (event.revision !== ids.length)
      throw new Error(`${event.stream}@${event.revision} came as ${ids.length}`);
    ids.push(event.id);
    streams.set(event.stream, ids);
  });
  expect(streams).toEqual(written);
};

export const orderUnderLoadContract = (name: string, makeStore: MakeStore): void => {
  describe(`${name}: order under load`, () => {
    const store = useStore(makeStore);

    it(`is kept for ${WRITERS} writers, ${EVENTS} events and a reader that follows them`, async () => {
      const ended = new AbortController();
      const startMs = performance.now();
      let batches = 0;
      const tail = takeUntil(
        store().subscribeToAll({ after: store.start(), signal: ended.signal }),
        (events) => {
          batches += 1;
          return events.length >= EVENTS;
        },
      );
      const writers = Array.from({ length: WRITERS }, () => write(store(), EVENTS / WRITERS));
      const written = new Map((await Promise.all(writers)).flatMap((streams) => [...streams]));
      const writtenMs = performance.now() - startMs;
      const seen = await tail;
      const tailedMs = performance.now() - startMs;
      ended.abort();
      assertOrder(seen, written, store().distanceUnit === 'events');
      console.info(
        `${name}: ${EVENTS} events by ${WRITERS} writers in ${Math.round(writtenMs)} ms ` +
          `(${Math.round(EVENTS / (writtenMs / 1_000))} events/s), tailed in ${batches} batches, ` +
          `last seen ${Math.round(tailedMs - writtenMs)} ms after the last append; 0 skipped, 0 doubled`,
      );
    }, 120_000);
  });
};
