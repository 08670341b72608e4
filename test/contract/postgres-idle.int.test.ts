import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pool, QueryConfig } from 'pg';
import { pino } from 'pino';
import { sleep } from '../../shared/async/backoff.ts';
import { START } from '../../shared/event-store/event-store.ts';
import { createPostgresEventStore } from '../../shared/event-store/postgres/postgres-event-store.ts';
import { createPool } from '../../shared/postgres/pool.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/toy-projection.ts';
import { openPostgresStore } from './make-postgres-store.ts';
import { newStream, sampleEvents } from './sample-events.ts';

/** What subscribers ask of Postgres: the statements of their store are counted by name. */

const SUBSCRIBERS = 20;
const IDLE_MS = 5_000;
/** Without a notification the log is looked at this often. */
const LOOK_MS = 1_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** The pool, and the statements sent through it, counted by name. */
const counted = (pool: Pool): { readonly pool: Pool; readonly asked: Map<string, number> } => {
  const asked = new Map<string, number>();
  const counting = new Proxy(pool, {
    get: (target, member: keyof Pool) => {
      if (member !== 'query') return target[member];
      return (config: QueryConfig) => {
        const name = config.name ?? 'unnamed';
        asked.set(name, (asked.get(name) ?? 0) + 1);
        return target.query(config);
      };
    },
  });
  return { pool: counting, asked };
};

describe(`${SUBSCRIBERS} subscribers of one store`, () => {
  it('look at the log once a second in all while nothing happens, and read what comes once', async () => {
    const log = pino({ level: 'silent' });
    const connectionString = database.url;
    const own = createPool({ connectionString, applicationName: 'exchange-test', max: 4 }, log);
    const { pool, asked } = counted(own);
    const store = createPostgresEventStore({ connectionString, pool, log });
    const other = openPostgresStore(database.url);
    const ended = new AbortController();
    const seen = Array.from({ length: SUBSCRIBERS }, () => 0);
    const following = seen.map(async (_, n) => {
      for await (const { events } of store.subscribeToAll({ after: START, signal: ended.signal })) {
        seen[n] = (seen[n] ?? 0) + events.length;
      }
    });
    const reach = (count: number) => until(async () => seen.every((each) => each === count));
    await store.append(newStream(), sampleEvents(3), 'no-stream');
    await reach(3);
    await until(async () => store.listening);
    await sleep(100);

    asked.clear();
    const startMs = performance.now();
    await sleep(IDLE_MS);
    const looksMax = (performance.now() - startMs) / 1_000 + 1;
    expect([...asked.keys()]).toEqual(['log_head']);
    expect(asked.get('log_head')).toBeLessThanOrEqual(looksMax);

    asked.clear();
    await other.store.append(newStream(), sampleEvents(3), 'no-stream');
    await reach(6);
    expect(asked.get('read_log')).toBe(1);

    ended.abort();
    await Promise.all(following);
    asked.clear();
    await sleep(1_500);
    expect([...asked]).toEqual([]);
    await other.close();
    await store.close();
    await own.end();
  });
});

it('a notification of more than the log holds stops no subscriber', async () => {
  const { store, pool, close } = openPostgresStore(database.url);
  const ended = new AbortController();
  const stream = newStream();
  await store.append(stream, sampleEvents(1), 'no-stream');
  let seen = 0;
  const following = (async () => {
    for await (const { events } of store.subscribeToAll({ after: START, signal: ended.signal })) {
      seen += events.filter((event) => event.stream === stream).length;
    }
  })();
  await until(async () => seen === 1 && store.listening);
  await pool.query(`select pg_notify('event_log', '1000000')`);
  await sleep(2 * LOOK_MS);
  await store.append(stream, sampleEvents(1), 0);
  await Promise.race([until(async () => seen === 2), following]);
  expect(seen).toBe(2);
  ended.abort();
  await following;
  await close();
});
