import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import {
  AppendOutcomeUnknownError,
  EventStoreUnavailableError,
  START,
  WrongExpectedRevisionError,
  type EventStore,
  type ExpectedRevision,
  type NewEvent,
} from '../../shared/event-store/event-store.ts';
import { parsePosition } from '../../shared/event-store/dense-position.ts';
import { makePostgresStore, openPostgresStore, type PostgresStoreUnderTest } from './make-postgres-store.ts';
import { assertOrder } from './order-under-load.contract.ts';
import { newStream, readIds, sampleEvent, sampleEvents, takeUntil, toArray } from './sample-events.ts';

/** Repeats the same ids at the same revision until it gets an answer, as a command does. */
const appendUntilKnown = async (
  store: EventStore,
  stream: string,
  events: readonly NewEvent[],
  expected: ExpectedRevision,
): Promise<{ attempts: number; repeated: boolean }> => {
  for (let attempts = 1; attempts <= 100; attempts += 1) {
    try {
      const { repeated } = await store.append(stream, events, expected);
      return { attempts, repeated };
    } catch (error) {
      const again = error instanceof AppendOutcomeUnknownError || error instanceof EventStoreUnavailableError;
      if (!again) throw error;
    }
  }
  throw new Error('no answer after 100 attempts');
};

const APPENDS_BETWEEN_KILLS = 5;

describe('two processes on one database', () => {
  let first: Awaited<ReturnType<typeof makePostgresStore>>;
  let second: PostgresStoreUnderTest;
  beforeAll(async () => {
    first = await makePostgresStore();
    second = openPostgresStore(first.database.url);
  });
  afterAll(async () => {
    await second.close();
    await first.dispose();
  });
  const kill = async (applicationName: string): Promise<number> => {
    const { rows } = await first.pool.query<{ killed: boolean }>(
      `select pg_terminate_backend(pid) as killed from pg_stat_activity
       where datname = current_database() and application_name = $1`,
      [applicationName],
    );
    return rows.length;
  };

  it('keep one order with 2 x 6 writers whose connections are killed and a subscriber on either side', async () => {
    const ended = new AbortController();
    const written = new Map<string, string[]>();
    const total = 12 * 250;
    let answered = 0;
    let repeats = 0;
    let retries = 0;
    const write = async (store: EventStore): Promise<void> => {
      const stream = newStream('killed');
      const ids: string[] = [];
      written.set(stream, ids);
      for (let n = 0; n < 250; n += 1) {
        const event = sampleEvent();
        const { attempts, repeated } = await appendUntilKnown(
          store,
          stream,
          [event],
          n === 0 ? 'no-stream' : n - 1,
        );
        ids.push(event.id);
        answered += 1;
        retries += attempts - 1;
        repeats += repeated ? 1 : 0;
      }
    };
    const tails = [first.store, second.store].map((store) =>
      takeUntil(
        store.subscribeToAll({ after: START, signal: ended.signal }),
        (events) => events.length >= total,
      ),
    );
    const writing = Promise.all(
      [...Array(12).keys()].map((n) => write(n % 2 === 0 ? first.store : second.store)),
    );
    const done = new AbortController();
    let kills = 0;
    const killing = (async () => {
      for (let before = 0; !done.signal.aborted;) {
        await new Promise((resolve) => setTimeout(resolve, 40));
        // On a busy machine a connection may not be open again after so short a time: nothing would ever be appended.
        if (answered < before + APPENDS_BETWEEN_KILLS) continue;
        before = answered;
        kills += await kill('exchange-append');
      }
    })();
    await writing.finally(() => done.abort());
    await killing;
    for (const seen of await Promise.all(tails)) assertOrder(seen, written);
    ended.abort();
    console.info(
      `${total} appends, ${kills} connections killed, ${retries} appends retried, ` +
        `${repeats} of them had been written: 0 lost, 0 doubled`,
    );
    expect(retries).toBeGreaterThan(0);
  });

  it('let exactly one of two creators of a stream win', async () => {
    for (let round = 0; round < 30; round += 1) {
      const stream = newStream();
      const outcomes = await Promise.allSettled(
        [first.store, second.store].map((store) =>
          appendUntilKnown(store, stream, sampleEvents(1), 'no-stream'),
        ),
      );
      expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    }
  });

  it('complete every append, once, when all writers compete for one stream', async () => {
    const stream = newStream();
    await first.store.append(stream, sampleEvents(1), 'no-stream');
    let conflicts = 0;
    const increment = async (store: EventStore): Promise<string> => {
      const event = sampleEvent();
      for (let expected = 0; ;) {
        try {
          await store.append(stream, [event], expected);
          return event.id;
        } catch (error) {
          if (!(error instanceof WrongExpectedRevisionError) || error.actual === 'no-stream') throw error;
          expected = error.actual;
          conflicts += 1;
        }
      }
    };
    const startMs = performance.now();
    const ids = await Promise.all(
      [...Array(60).keys()].map((n) => increment(n % 2 ? first.store : second.store)),
    );
    console.info(
      `60 writers on one stream: ${conflicts} conflicts, ${Math.round(performance.now() - startMs)} ms`,
    );
    expect((await readIds(first.store, stream)).slice(1).toSorted()).toEqual(ids.toSorted());
  });

  it('notify each other, and poll when LISTEN is cut', async () => {
    const ended = new AbortController();
    const batches = second.store.subscribeToAll({ after: await second.store.head(), signal: ended.signal });
    const tail = batches[Symbol.asyncIterator]();
    await tail.next();
    const seenAfterMs = async (): Promise<number> => {
      const event = sampleEvent();
      await first.store.append(newStream(), [event], 'no-stream');
      const startMs = performance.now();
      const batch = (await tail.next()).value;
      expect(batch.events.map(({ id }: NewEvent) => id)).toEqual([event.id]);
      return performance.now() - startMs;
    };
    await seenAfterMs();
    const listeningMs = await seenAfterMs();
    expect(await kill('exchange-listen')).toBe(2);
    const killing = setInterval(() => void kill('exchange-listen'), 10);
    const cutMs = await seenAfterMs();
    clearInterval(killing);
    expect(cutMs).toBeLessThan(10_000);
    for (let n = 0; n < 100 && !(first.store.listening && second.store.listening); n += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect([first.store.listening, second.store.listening]).toEqual([true, true]);
    await seenAfterMs();
    console.info(
      `seen by the other process after ${listeningMs.toFixed(1)} ms, with LISTEN cut ${cutMs.toFixed(1)} ms`,
    );
    ended.abort();
  });

  it('notify each other of the last append before they end, however rarely they announce', async () => {
    const heard: string[] = [];
    const other = new Client({ connectionString: first.database.url });
    other.on('notification', ({ payload }) => heard.push(payload ?? ''));
    await other.connect();
    await other.query('listen event_log');
    const seldom = openPostgresStore(first.database.url, { announceEveryMs: 3_600_000 });
    const append = () => seldom.store.append(newStream(), sampleEvents(1), 'no-stream');
    await append();
    for (let n = 0; n < 500 && !seldom.store.listening; n += 1) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await append();
    const { position } = await append();
    await seldom.close();
    // The server delivers in order: earlier notifications have arrived by now.
    await other.query('select 1');
    await other.end();
    expect(heard).toContain(String(parsePosition(position)));
  });

  it('continue when the connections of the reading pool are killed', async () => {
    const ended = new AbortController();
    const after = await second.store.head();
    const tail = takeUntil(
      second.store.subscribeToAll({ after, signal: ended.signal }),
      (events) => events.length >= 40,
    );
    for (let n = 0; n < 40; n += 1) {
      await first.store.append(newStream(), sampleEvents(1), 'no-stream');
      if (n % 10 === 5) {
        const admin = openPostgresStore(first.database.url);
        await admin.pool.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and application_name = 'exchange-test' and pid <> pg_backend_pid()`,
        );
        await admin.close();
      }
    }
    expect(await tail).toEqual(await first.store.readAll({ after, limit: 100 }));
    ended.abort();
    expect(await toArray(second.store.readStream('sample-none'))).toEqual([]);
  });
});
