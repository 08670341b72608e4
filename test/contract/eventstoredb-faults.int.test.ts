import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { status } from '@grpc/grpc-js';
import { EventStoreDBClient } from '@eventstore/db-client';
import {
  AppendOutcomeUnknownError,
  EventStoreUnavailableError,
  START,
  WrongExpectedRevisionError,
} from '../../shared/event-store/event-store.ts';
import { callLimits, type CallLimits } from '../../shared/event-store/eventstoredb/call-limits.ts';
import { disconnect } from '../support/eventstoredb/client-kit.ts';
import { startEventStoreService } from '../support/eventstoredb/event-store-service.ts';
import {
  makeEventStoreDbOnService,
  openEventStoreDbStore,
  type EventStoreDbOnService,
} from './make-eventstoredb-store.ts';
import { newStream, readIds, sampleEvent, sampleEvents, toArray } from './sample-events.ts';
import { amount } from '../support/amount.ts';

/** Faults of the server and of the connection during appends and reads, over real gRPC to the in-memory service. */

let made: EventStoreDbOnService;
/**
 * Starts a service for the tests of a `describe`.
 * @param limits the service's, where a test measures how fast it answers
 */
const onService = (limits?: CallLimits): void => {
  beforeEach(async () => {
    made = await makeEventStoreDbOnService({}, limits);
  });
  afterEach(() => made.dispose());
};

const failureOf = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no failure',
    (error: unknown) => error,
  );

/** The limit is 3 s; the rest allows for a busy machine. */
const ANSWER_MS_MAX = 6_000;
const BACK_MS_MAX = 10_000;
const timed = async <T>(work: Promise<T>): Promise<T> => {
  const startMs = performance.now();
  const result = await work;
  expect(performance.now() - startMs).toBeLessThan(ANSWER_MS_MAX);
  return result;
};

describe('an append without an answer', () => {
  onService(callLimits);

  it.each([
    ['the server never answers and did not append', { fault: 'mute', next: 1 }, false],
    ['the server never answers and has appended', { fault: 'mute-after-commit', next: 1 }, true],
    ['the answer comes too late', { fault: 'late-reply', delayMs: 4_000, next: 1 }, true],
    ['the server times out every time and did not append', { fault: 'timeout', next: null }, false],
    ['the server times out every time and has appended', { fault: 'timeout-after-commit', next: null }, true],
    ['every connection is reset before the append', { fault: 'reset', next: null }, false],
    ['every connection is reset after the append', { fault: 'reset-after-commit', next: null }, true],
  ] as const)(
    '%s: fails as unknown within 3 s, and a repeat returns the outcome',
    async (_, fault, isDone) => {
      const { store, service } = made;
      const stream = newStream();
      await store.append(stream, sampleEvents(1), 'no-stream');
      const events = sampleEvents(2);
      service.faults.inject({ ...fault, kinds: ['append'] });
      expect(await timed(failureOf(store.append(stream, events, 0)))).toBeInstanceOf(
        AppendOutcomeUnknownError,
      );
      service.faults.clear();
      const answer = await store.append(stream, events, 0);
      expect(answer).toMatchObject({ revision: 2, repeated: isDone });
      expect(await readIds(store, stream)).toEqual([expect.any(String), ...events.map(({ id }) => id)]);
      // A late reply must not affect later appends.
      if (fault.fault === 'late-reply') await new Promise((resolve) => setTimeout(resolve, 2_000));
      expect(await store.append(stream, sampleEvents(1), 2)).toMatchObject({ revision: 3, repeated: false });
    },
  );
});

describe('an append with an unknown outcome', () => {
  onService();

  it.each(['timeout-after-commit', 'reset-after-commit', 'reset', 'timeout'] as const)(
    '%s, once: the store determines the outcome within the same call, and that it was not a repeat',
    async (fault) => {
      const { store, service } = made;
      const stream = newStream();
      const events = sampleEvents(2);
      service.faults.inject({ fault, kinds: ['append'] });
      expect(await store.append(stream, events, 'no-stream')).toMatchObject({ revision: 1, repeated: false });
      expect(await readIds(store, stream)).toEqual(events.map(({ id }) => id));
      expect(service.calls.append).toBe(2);
    },
  );

  it('whose account position could not be written: its outcome is unknown, and the repeat writes the position', async () => {
    let isUnavailable = true;
    const { store, accountPositions } = openEventStoreDbStore(made.service.url, async () => {
      if (isUnavailable) throw new Error('Postgres is unavailable');
    });
    const stream = newStream();
    const events = sampleEvents(2);
    expect(await failureOf(store.append(stream, events, 'no-stream'))).toBeInstanceOf(
      AppendOutcomeUnknownError,
    );
    expect(accountPositions).toEqual([]);
    isUnavailable = false;
    const { position, repeated } = await store.append(stream, events, 'no-stream');
    expect([repeated, accountPositions]).toEqual([true, [[7, position]]]);
    await store.append(stream, events, 'any');
    expect(accountPositions).toHaveLength(2);
    await store.close();
  });

  it('whose account position is written too slowly: fails as unknown within 3 s', async () => {
    const { store } = openEventStoreDbStore(made.service.url, () => new Promise(() => undefined), callLimits);
    expect(await timed(failureOf(store.append(newStream(), sampleEvents(1), 'no-stream')))).toBeInstanceOf(
      AppendOutcomeUnknownError,
    );
    await store.close();
  });

  it('with "any": a repeat returns the outcome', async () => {
    const { store, service } = made;
    const stream = newStream();
    const events = sampleEvents(2);
    await store.append(stream, sampleEvents(3), 'any');
    service.faults.inject({ fault: 'timeout-after-commit', kinds: ['append'], next: null });
    expect(await failureOf(store.append(stream, events, 'any'))).toBeInstanceOf(AppendOutcomeUnknownError);
    service.faults.clear();
    await store.append(stream, sampleEvents(1), 'any');
    expect(await store.append(stream, events, 'any')).toMatchObject({ revision: 4, repeated: true });
  });
});

describe('an append that was certainly not made', () => {
  onService(callLimits);

  it('fails when no server answers', async () => {
    const { url } = made.service;
    await made.service.close();
    const { store } = openEventStoreDbStore(url, undefined, callLimits);
    for (let times = 0; times < 3; times += 1) {
      const failure = await timed(failureOf(store.append(newStream(), sampleEvents(1), 'no-stream')));
      expect(failure).toBeInstanceOf(EventStoreUnavailableError);
    }
    await store.close();
  });

  it('fails while the server is not ready', async () => {
    const { store, service } = made;
    service.faults.inject({ fault: 'not-ready', kinds: ['append'], next: null });
    const failure = await timed(failureOf(store.append(newStream(), sampleEvents(1), 'no-stream')));
    expect(failure).toBeInstanceOf(EventStoreUnavailableError);
    service.faults.clear();
    service.faults.inject({ fault: 'not-ready', kinds: ['append'] });
    expect(await store.append(newStream(), sampleEvents(1), 'no-stream')).toMatchObject({ revision: 0 });
  });

  it.each([
    ['access denied', status.PERMISSION_DENIED],
    ['not authenticated', status.UNAUTHENTICATED],
    ['an invalid argument', status.INVALID_ARGUMENT],
    ['an unknown method', status.UNIMPLEMENTED],
  ])('fails with %s: the server is called once and the error contains its message', async (_, code) => {
    const { store, service } = made;
    const stream = newStream();
    service.faults.inject({
      fault: 'status',
      code,
      details: 'because of this',
      kinds: ['append'],
      next: null,
    });
    const failure = await failureOf(store.append(stream, sampleEvents(1), 'no-stream'));
    expect(failure).toBeInstanceOf(EventStoreUnavailableError);
    expect(String(failure)).toContain('because of this');
    expect(service.calls.append).toBe(1);
    expect(await readIds(store, stream)).toEqual([]);
  });

  it('fails with a conflict whose message names both revisions', async () => {
    const { store } = made;
    const stream = newStream();
    await store.append(stream, sampleEvents(3), 'no-stream');
    const failure = await failureOf(store.append(stream, sampleEvents(1), 0));
    expect(failure).toBeInstanceOf(WrongExpectedRevisionError);
    expect(failure).toMatchObject({ actual: 2, message: `stream ${stream} is at 2, expected 0` });
  });
});

describe('the leader', () => {
  onService();

  it('is found through a node that does not lead', async () => {
    const leader = await startEventStoreService({ log: made.service.log });
    made.service.faults.inject({ fault: 'not-leader', host: '127.0.0.1', port: leader.port, next: null });
    const stream = newStream();
    const events = sampleEvents(2);
    expect(await made.store.append(stream, events, 'no-stream')).toMatchObject({ repeated: false });
    expect(await readIds(made.store, stream)).toEqual(events.map(({ id }) => id));
    expect([made.service.calls.append, leader.calls.append]).toEqual([0, 1]);
    await leader.close();
  });
});

describe('the client', () => {
  onService();

  it('appends by unary calls only, and never asks which features the server supports', async () => {
    const { store, service } = made;
    service.faults.inject({
      fault: 'status',
      code: status.INTERNAL,
      kinds: ['features', 'batch-append'],
      next: null,
    });
    await Promise.all(
      Array.from({ length: 20 }, () => store.append(newStream(), sampleEvents(1), 'no-stream')),
    );
    expect(service.calls).toMatchObject({ append: 20, 'batch-append': 0, features: 0 });
  });

  it('reads once before its first append', async () => {
    const { store, service } = made;
    service.faults.inject({ fault: 'unavailable', kinds: ['read-all'] });
    const stream = newStream();
    const events = sampleEvents(20);
    await Promise.all(events.map((event) => store.append(stream, [event], 'any')));
    expect(await readIds(store, stream)).toEqual(events.map(({ id }) => id));
    expect(service.calls['read-all']).toBeGreaterThanOrEqual(2);
  });

  it('never receives an event that it cannot serialise, so concurrent appends succeed', async () => {
    const { store, service } = made;
    const circular: Record<string, never> = {};
    Object.assign(circular, { circular });
    const good = Array.from({ length: 10 }, () => store.append(newStream(), sampleEvents(1), 'no-stream'));
    await expect(store.append(newStream(), [sampleEvent({ data: circular })], 'any')).rejects.toThrow(
      TypeError,
    );
    await expect(store.append(newStream(), sampleEvents(1), -1)).rejects.toThrow(RangeError);
    await expect(store.append(newStream(), sampleEvents(1), 2 ** 63)).rejects.toThrow(RangeError);
    await expect(store.append(newStream(), [], 'any')).rejects.toThrow(RangeError);
    expect(await Promise.all(good)).toHaveLength(10);
    expect(service.calls.append).toBe(10);
  });

  it('stores an event as it was at the time of the call', async () => {
    const data: Record<string, string> = { text: 'as it was' };
    const stream = newStream();
    const appending = made.store.append(stream, [sampleEvent({ data })], 'no-stream');
    Object.assign(data, { text: 'changed', circular: data });
    await appending;
    expect((await toArray(made.store.readStream(stream)))[0]?.data).toEqual({ text: 'as it was' });
  });

  it('stores events as JSON with JSON metadata, for other programs to read', async () => {
    const stream = newStream();
    const event = sampleEvent();
    await made.store.append(stream, [event], 'no-stream');
    const raw = EventStoreDBClient.connectionString(made.service.url);
    const [stored] = await toArray(raw.readStream(stream));
    expect(stored?.event).toMatchObject({ isJson: true, data: event.data, metadata: event.metadata });
    await disconnect(raw);
  });

  it('is closed however reads and subscriptions ended', async () => {
    const { store, service } = made;
    const stream = newStream();
    for (let n = 0; n < 3; n += 1) await store.append(stream, sampleEvents(400), 'any');
    for await (const _ of store.readStream(stream)) break;
    await expect(toArray(store.readStream('sample-none'))).resolves.toEqual([]);
    const following = store.subscribeToAll({
      after: START,
      batchSize: 10,
      signal: new AbortController().signal,
    });
    for await (const _ of following) break;
    const startMs = performance.now();
    await store.close();
    expect(performance.now() - startMs).toBeLessThan(10_000);
    for (let tries = 0; tries < 100 && service.connections > 0; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect([service.subscriptions, service.connections]).toEqual([0, 0]);
  });

  it('is replaced while its server is unavailable, so that the store works again soon after the server returns', async () => {
    const { service } = made;
    const { store } = openEventStoreDbStore(service.url, undefined, callLimits);
    const { port, log } = service;
    await store.append(newStream(), sampleEvents(1), 'no-stream');
    await service.close();
    const unavailableSinceMs = performance.now();
    while (performance.now() - unavailableSinceMs < 5_000) {
      expect(await timed(failureOf(store.head()))).toBeInstanceOf(EventStoreUnavailableError);
    }
    const again = await startEventStoreService({ port, log });
    const startMs = performance.now();
    for (let isBack = false; !isBack;) {
      isBack = !((await failureOf(store.append(newStream(), sampleEvents(1), 'no-stream'))) instanceof Error);
    }
    expect(performance.now() - startMs).toBeLessThan(BACK_MS_MAX);
    expect(store.clientsReplaced).toBeGreaterThan(0);
    await store.close();
    await again.close();
  });
});

describe('a read without an answer', () => {
  onService(callLimits);

  it.each(['mute', 'reset', 'unavailable'] as const)('%s: fails as unavailable within 3 s', async (fault) => {
    const { store, service } = made;
    const stream = newStream();
    await store.append(stream, sampleEvents(1), 'no-stream');
    service.faults.inject({ fault, kinds: ['read-stream', 'read-all'], next: null });
    const reads = [
      store.head(),
      store.readAll({ after: START, limit: 10 }),
      toArray(store.readStream(stream)),
    ];
    const failures = await timed(Promise.all(reads.map(failureOf)));
    for (const failure of failures) expect(failure).toBeInstanceOf(EventStoreUnavailableError);
    service.faults.clear();
    expect(await readIds(store, stream)).toHaveLength(1);
  });
});

describe('a read', () => {
  onService({ ...callLimits, readMs: 1_000 });

  it('is complete or fails, however often connections are reset and clients replaced', async () => {
    const { store, service } = made;
    const stream = newStream();
    await store.append(stream, sampleEvents(1_000), 'no-stream');
    const sizes: number[] = [];
    const isEnough = (): boolean => store.clientsReplaced > 3 && sizes.length > 3;
    let round = 0;
    // Less often after 40 rounds: on a slow machine a read may take longer than the time between two resets.
    const resetting = setInterval(() => {
      if (round < 40 || round % 3 === 0) service.faults.resetConnections();
    }, 25);
    for (; round < amount(12, 40) || (round < 200 && !isEnough()); round += 1) {
      const reads = await Promise.allSettled([
        readIds(store, stream).then((ids) => ids.length),
        store.readAll({ after: START, limit: 2_000 }).then((events) => events.length),
        store.head().then((head) => (head === START ? 0 : 1_000)),
      ]);
      for (const read of reads) if (read.status === 'fulfilled') sizes.push(read.value);
    }
    clearInterval(resetting);
    expect(isEnough()).toBe(true);
    expect(new Set(sizes)).toEqual(new Set([1_000]));
  });

  it('is retried when its connection was lost', async () => {
    const { store, service } = made;
    const stream = newStream();
    await store.append(stream, sampleEvents(2), 'no-stream');
    service.faults.inject({ fault: 'reset', kinds: ['read-stream'] });
    expect(await readIds(store, stream)).toHaveLength(2);
  });
});

describe('two processes that run the same command at once', () => {
  onService();

  it('get different results: exactly one has written', async () => {
    const { store: other } = openEventStoreDbStore(made.service.url);
    let both = 0;
    for (let round = 0; round < 40; round += 1) {
      const stream = newStream();
      const events = sampleEvents(2);
      const expected = round % 2 === 0 ? 'no-stream' : 'any';
      const answers = await Promise.all(
        [made.store, other].map((store) => store.append(stream, events, expected)),
      );
      expect(answers.filter(({ repeated }) => !repeated)).toHaveLength(1);
      expect(new Set(answers.map(({ position }) => position)).size).toBe(1);
      expect(await readIds(other, stream)).toHaveLength(2);
      both += 1;
    }
    expect(both).toBe(40);
    await other.close();
  });
});
