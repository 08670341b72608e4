import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { status } from '@grpc/grpc-js';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import {
  comparePositions,
  LogGapError,
  START,
  type EventBatch,
  type EventStore,
  type Position,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { disconnect } from '../support/eventstoredb/client-kit.ts';
import { startEventStoreService } from '../support/eventstoredb/event-store-service.ts';
import {
  makeEventStoreDbOnService,
  openEventStoreDbStore,
  type EventStoreDbOnService,
} from './make-eventstoredb-store.ts';
import { newStream, sampleEvent, sampleEvents, takeUntil, toArray } from './sample-events.ts';
import { amount } from '../support/amount.ts';

/** Every way in which a subscription may end or stop delivering, over real gRPC to the in-memory service. */

let made: EventStoreDbOnService;
let ended: AbortController;
beforeEach(async () => {
  made = await makeEventStoreDbOnService();
  ended = new AbortController();
});
afterEach(async () => {
  ended.abort();
  await made.dispose();
});

const subscribe = (after: Position = START, batchSize = 1_000): AsyncIterable<EventBatch> =>
  made.store.subscribeToAll({ after, batchSize, signal: ended.signal });
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const write = async (store: EventStore, appends: number): Promise<string[]> => {
  const ids: string[] = [];
  const stream = newStream();
  for (let n = 0; n < appends; n += 1) {
    const events = sampleEvents(2);
    const expected = ids.length === 0 ? 'no-stream' : ids.length - 1;
    await store.append(stream, events, expected);
    ids.push(...events.map(({ id }) => id));
  }
  return ids;
};

const idsOf = (events: readonly RecordedEvent[]): string[] => events.map(({ id }) => id);

/** Writes server events ("$...") as another client. */
const writeSystemEvents = async (url: string, count: number): Promise<void> => {
  const client = EventStoreDBClient.connectionString(url);
  const events = Array.from({ length: count }, () => jsonEvent({ type: '$statsCollected', data: { n: 1 } }));
  for (let from = 0; from < count; from += 200) {
    await client.appendToStream('$stats-127.0.0.1:2113', events.slice(from, from + 200));
  }
  await disconnect(client);
};

describe('a subscription that ends', () => {
  it.each(['end', 'cancelled', 'too-slow', 'unavailable', 'reset'] as const)(
    'with %s, again and again: no event is skipped or repeated',
    async (how) => {
      const { store, service } = made;
      let drops = 0;
      const dropping = setInterval(() => {
        if (how === 'reset') drops += service.subscriptions > 0 ? service.faults.resetConnections() : 0;
        else drops += service.faults.dropSubscriptions(how);
      }, 60);
      // A reset would slow down writes on separate stores, which this test does not measure.
      const last = sampleEvent();
      const seen = takeUntil(subscribe(START, 50), (events) => events.some(({ id }) => id === last.id));
      const written = await write(store, 150);
      // Continues when all events are written before three drops.
      while (drops <= 2) written.push(...(await write(store, 10)));
      await store.append(newStream(), [last], 'no-stream');
      const events = await seen;
      clearInterval(dropping);
      expect(idsOf(events)).toEqual([...written, last.id]);
      expect(store.subscriptionsLost).toBeGreaterThan(0);
    },
    60_000,
  );

  it('before every event: resumes', async () => {
    const { store, service } = made;
    service.faults.inject({
      fault: 'status',
      code: status.INTERNAL,
      details: 'broken',
      kinds: ['subscribe'],
      next: 3,
    });
    service.faults.inject({
      fault: 'status',
      code: status.PERMISSION_DENIED,
      details: 'denied',
      kinds: ['subscribe'],
      next: 1,
    });
    const seen = takeUntil(subscribe(), (events) => events.length === 40);
    while (store.subscriptionsLost < 4) await pause(10);
    const written = await write(store, 20);
    expect(idsOf(await seen)).toEqual(written);
    expect(store.subscriptionsLost).toBe(4);
  });

  it('without an error: is replaced', async () => {
    const { store, service } = made;
    service.faults.inject({ fault: 'mute', kinds: ['subscribe'], next: 1 });
    const seen = takeUntil(subscribe(), (events) => events.length === 6);
    while (service.calls.subscribe === 0) await pause(10);
    const written = await write(store, 3);
    expect(idsOf(await seen)).toEqual(written);
    expect(service.calls.subscribe).toBe(2);
  });

  it('without an error while another process writes: is replaced', async () => {
    const { service } = made;
    service.faults.inject({ fault: 'mute', kinds: ['subscribe'], next: 1 });
    const seen = takeUntil(subscribe(), (events) => events.length === 6);
    while (service.calls.subscribe === 0) await pause(10);
    const other = openEventStoreDbStore(service.url);
    const written = await write(other.store, 3);
    expect(idsOf(await seen)).toEqual(written);
    expect(service.calls.subscribe).toBe(2);
    await other.store.close();
  }, 30_000);

  it('resumes at its position after its server was unavailable', async () => {
    const { store, service } = made;
    const seen: RecordedEvent[] = [];
    const following = (async () => {
      for await (const { events } of subscribe()) seen.push(...events);
    })();
    const written = await write(store, 10);
    while (seen.length < 20) await pause(10);
    const { port, log } = service;
    await service.close();
    await pause(1_500);
    const again = await startEventStoreService({ port, log });
    let more: string[] = [];
    for (let tries = 0; tries < 40 && more.length === 0; tries += 1) {
      more = await write(store, 5).catch(() => []);
    }
    while (seen.length < 30) await pause(10);
    expect(idsOf(seen)).toEqual([...written, ...more]);
    ended.abort();
    await following;
    await store.close();
    await again.close();
  });
});

describe('a log that does not contain the position', () => {
  const positions = async (): Promise<readonly Position[]> => {
    await write(made.store, 20);
    return (await made.store.readAll({ after: START, limit: 100 })).map(({ position }) => position);
  };

  it('because it is shorter: a waiting subscriber stops with LogGapError', async () => {
    const { service } = made;
    await positions();
    const batches = subscribe()[Symbol.asyncIterator]();
    for (let isEnd = false; !isEnd;) isEnd = ((await batches.next()).value as EventBatch).caughtUp;
    const next = batches.next().catch((error: unknown) => error);
    await service.close();
    const restored = await startEventStoreService({ port: service.port });
    expect(await next).toBeInstanceOf(LogGapError);
    await restored.close();
  });

  it('because it is shorter: the lag is negative', async () => {
    const { store } = made;
    const last = (await positions()).at(-1) as Position;
    expect(store.distance(last, await store.head())).toBe(0);
    const other = await makeEventStoreDbOnService();
    await write(other.store, 2);
    expect(other.store.distance(last, await other.store.head())).toBeLessThan(0);
    await other.dispose();
  });

  it('although it is longer: the subscription stops with LogGapError', async () => {
    const [, second] = await positions();
    const [commit] = (second as string).split('.') as [string];
    const off = String(BigInt(commit) + 1n).padStart(commit.length, '0');
    const batches = subscribe(`${off}.${off}` as Position);
    await expect(toArray(batches)).rejects.toBeInstanceOf(LogGapError);
  });

  it('because the position belongs to another kind of store: is refused immediately', async () => {
    await expect(toArray(subscribe('0000000000000007' as Position))).rejects.toBeInstanceOf(RangeError);
  });
});

describe("the server's own events", () => {
  it('are not delivered, and advance the position of an idle subscriber', async () => {
    const { store, service } = made;
    const written = await write(store, 2);
    const batches: EventBatch[] = [];
    const following = (async () => {
      for await (const batch of subscribe()) batches.push(batch);
    })();
    while (batches.at(-1)?.caughtUp !== true) await pause(10);
    const before = batches.at(-1)?.position as Position;
    const head = await store.head();
    await writeSystemEvents(service.url, 1_000);
    const hasAdvanced = (): boolean => comparePositions(batches.at(-1)?.position as Position, before) > 0;
    for (let tries = 0; tries < 500 && !hasAdvanced(); tries += 1) await pause(10);
    expect(hasAdvanced()).toBe(true);
    expect(batches.at(-1)).toMatchObject({ events: [], caughtUp: true });
    expect(idsOf(batches.flatMap(({ events }) => events))).toEqual(written);
    expect(await store.readAll({ after: START, limit: 100 })).toHaveLength(4);
    // After the last event, but not beyond the log: no event is missing.
    expect(store.distance(batches.at(-1)?.position as Position, head)).toBe(0);
    ended.abort();
    await following;
  });

  it('do not change the head, however many come last', async () => {
    const { store, service } = made;
    const { position } = await store.append(newStream(), sampleEvents(1), 'no-stream');
    for (const count of [5, 60]) {
      await writeSystemEvents(service.url, count);
      expect(await store.head()).toBe(position);
    }
    const seen = await takeUntil(subscribe(), (_, { caughtUp }) => caughtUp);
    expect(seen).toHaveLength(1);
    await writeSystemEvents(service.url, 1_500);
    expect(comparePositions(await store.head(), position)).toBeGreaterThan(0);
    expect(await takeUntil(subscribe(), (_, { caughtUp }) => caughtUp)).toHaveLength(1);
    expect(await store.append(newStream(), sampleEvents(1), 'no-stream')).toMatchObject({ revision: 0 });
    expect(await takeUntil(subscribe(), (_, { caughtUp }) => caughtUp)).toHaveLength(2);
  });
});

describe('a slow subscriber', () => {
  it('buffers at most one batch; the server keeps the rest', async () => {
    const EVENTS = amount(1_500, 10_000);
    const { store } = made;
    for (let n = 0; n < EVENTS / 1_000; n += 1)
      await store.append(newStream(), sampleEvents(1_000), 'no-stream');
    const batches = subscribe(START, 100)[Symbol.asyncIterator]();
    const sizes: number[] = [];
    for (let total = 0; total < EVENTS;) {
      const batch = (await batches.next()).value as EventBatch;
      if (sizes.length < 3) await pause(100);
      sizes.push(batch.events.length);
      total += batch.events.length;
    }
    expect(Math.max(...sizes)).toBe(100);
    expect(sizes.reduce((total, n) => total + n, 0)).toBe(EVENTS);
  });
});
