import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pool, QueryConfig } from 'pg';
import { pino } from 'pino';
import { sleep } from '../../shared/async/backoff.ts';
import { START } from '../../shared/event-store/event-store.ts';
import { createPostgresEventStore } from '../../shared/event-store/postgres/postgres-event-store.ts';
import { createPool } from '../../shared/postgres/pool.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';
import { openPostgresStore } from './make-postgres-store.ts';
import { newStream, sampleEvents } from './sample-events.ts';

/** Queries that subscribers send to Postgres, counted by name. */

const SUBSCRIBERS = 20;
const IDLE_MS = 5_000;
/** How often the log is read without a notification. */
const POLL_MS = 1_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** A pool that counts its queries by name. */
const countQueries = (pool: Pool): { readonly pool: Pool; readonly queries: Map<string, number> } => {
  const queries = new Map<string, number>();
  const counting = new Proxy(pool, {
    get: (target, member: keyof Pool) => {
      if (member !== 'query') return target[member];
      return (config: QueryConfig) => {
        const name = config.name ?? 'unnamed';
        queries.set(name, (queries.get(name) ?? 0) + 1);
        return target.query(config);
      };
    },
  });
  return { pool: counting, queries };
};

describe(`${SUBSCRIBERS} subscribers of one store`, () => {
  it('read the head once a second in total while no event comes, and read new events once', async () => {
    const log = pino({ level: 'silent' });
    const connectionString = database.url;
    const own = createPool({ connectionString, applicationName: 'exchange-test', max: 4 }, log);
    const { pool, queries } = countQueries(own);
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

    queries.clear();
    const startMs = performance.now();
    await sleep(IDLE_MS);
    const pollsMax = (performance.now() - startMs) / 1_000 + 1;
    expect([...queries.keys()]).toEqual(['log_head']);
    expect(queries.get('log_head')).toBeLessThanOrEqual(pollsMax);

    queries.clear();
    await other.store.append(newStream(), sampleEvents(3), 'no-stream');
    await reach(6);
    expect(queries.get('read_log')).toBe(1);

    ended.abort();
    await Promise.all(following);
    queries.clear();
    await sleep(1_500);
    expect([...queries]).toEqual([]);
    await other.close();
    await store.close();
    await own.end();
  });
});

it('a notification beyond the end of the log stops no subscriber', async () => {
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
  await sleep(2 * POLL_MS);
  await store.append(stream, sampleEvents(1), 0);
  await Promise.race([until(async () => seen === 2), following]);
  expect(seen).toBe(2);
  ended.abort();
  await following;
  await close();
});
