import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { QueryConfig } from 'pg';
import {
  EventStoreUnavailableError,
  LogGapError,
  START,
  type EventBatch,
} from '../../shared/event-store/event-store.ts';
import { createLogReader } from '../../shared/event-store/postgres/read-log.ts';
import { makePostgresStore } from './make-postgres-store.ts';
import { newStream, readIds, sampleEvent, sampleEvents, takeUntil, toArray } from './sample-events.ts';

type StoreOnDatabase = Awaited<ReturnType<typeof makePostgresStore>>;

describe('the log in Postgres', () => {
  let made: StoreOnDatabase;
  beforeAll(async () => {
    made = await makePostgresStore();
  });
  afterAll(() => made.dispose());

  it('is never scanned as a whole, also by plans made while it was empty', async () => {
    const client = await made.pool.connect();
    try {
      // Enough calls for Postgres to switch to generic plans, all of them on an empty table.
      for (let n = 0; n < 12; n += 1) {
        await client.query(`select * from read_log(0, 100, 1000000, null)`);
        await client.query(`select * from read_log(0, 100, 1000000, '{a}')`);
        await client.query(`select * from read_stream('none', 0, false, 100, 1000000)`);
        await client.query(`select * from read_stream('none', 9, true, 100, 1000000)`);
      }
      await Promise.all(
        [...Array(40).keys()].map(() => made.store.append(newStream(), sampleEvents(500), 'no-stream')),
      );
      const stream = newStream();
      await made.store.append(stream, sampleEvents(3), 'no-stream');
      await client.query('begin');
      await client.query(`select * from read_log(15000, 100, 1000000, '{sample}')`);
      await client.query(`select * from read_stream($1, 0, false, 100, 1000000)`, [stream]);
      await client.query(`select * from read_stream($1, 9, true, 100, 1000000)`, [stream]);
      await client.query('select coalesce(max(position), 0) from events');
      const { rows } = await client.query(
        `select seq_scan::int, seq_tup_read::int, idx_tup_fetch::int
         from pg_stat_xact_user_tables where relname = 'events'`,
      );
      await client.query('rollback');
      console.info('hot reads at 20,003 events', rows[0]);
      expect(rows[0]).toMatchObject({ seq_scan: 0, seq_tup_read: 0 });
      expect(rows[0].idx_tup_fetch).toBeLessThanOrEqual(107);
    } finally {
      client.release(true);
    }
  });

  it('is appended to by index probes only, also when the planner prefers a scan of an empty table', async () => {
    const scans = async () => {
      const { rows } = await made.pool.query(
        `select pg_stat_get_numscans('events'::regclass)::int as scans, pg_stat_get_tuples_returned('events'::regclass)::int as tuples`,
      );
      return rows[0] as { scans: number; tuples: number };
    };
    const before = await scans();
    const streams = [...Array(50).keys()].map(() => newStream());
    await Promise.all(streams.map((stream) => made.store.append(stream, sampleEvents(1), 'no-stream')));
    await Promise.all(streams.map((stream) => made.store.append(stream, sampleEvents(1), 'any')));
    // Postgres publishes the statistics of a session at most once a second.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    await made.store.append(newStream(), sampleEvents(1), 'any');
    await new Promise((resolve) => setTimeout(resolve, 200));
    const after = await scans();
    expect({ scans: after.scans - before.scans, tuples: after.tuples - before.tuples }).toEqual({
      scans: 0,
      tuples: 0,
    });
  });

  it('stores the last position of every account, and never moves it back', async () => {
    const metadata = (customerId: number) => ({ ...sampleEvent().metadata, customerId });
    const append = (customerId: number) =>
      made.store.append(newStream(), [sampleEvent({ metadata: metadata(customerId) })], 'no-stream');
    const results = await Promise.all([101, 102, 101, 103, 101].map(append));
    const alone = await append(102);
    const { rows } = await made.pool.query<{ customer_id: string; position: string }>(
      'select customer_id, position from account_positions where customer_id between 101 and 103 order by 1',
    );
    expect(rows).toEqual([
      {
        customer_id: '101',
        position: String(Math.max(...[0, 2, 4].map((n) => Number(results[n]?.position)))).padStart(16, '0'),
      },
      { customer_id: '102', position: alone.position },
      { customer_id: '103', position: results[3]?.position },
    ]);
  });

  it('refuses only the append that Postgres refuses, not others in the same batch', async () => {
    await made.pool.query(`alter table events add constraint no_poison check (type <> 'Poison')`);
    const stream = newStream();
    const good = [...Array(30).keys()].map(() =>
      made.store.append(newStream(), sampleEvents(1), 'no-stream'),
    );
    const bad = made.store.append(stream, [sampleEvent(), sampleEvent({ type: 'Poison' })], 'no-stream');
    const more = [...Array(30).keys()].map(() =>
      made.store.append(newStream(), sampleEvents(1), 'no-stream'),
    );
    await expect(bad).rejects.toBeInstanceOf(EventStoreUnavailableError);
    expect(await Promise.all([...good, ...more])).toHaveLength(60);
    expect(await readIds(made.store, stream)).toEqual([]);
    await made.pool.query('alter table events drop constraint no_poison');
  });

  it('limits a page by bytes, regardless of the requested number of events', async () => {
    const after = await made.store.head();
    const stream = newStream('large');
    const text = 'x'.repeat(1_000_000);
    for (let n = 0; n < 4; n += 1) {
      await made.store.append(
        stream,
        [...Array(10).keys()].map(() => sampleEvent({ data: { text } })),
        'any',
      );
    }
    const seen: EventBatch[] = [];
    const ended = new AbortController();
    const options = { after, signal: ended.signal };
    const events = await takeUntil(made.store.subscribeToAll(options), (_, batch) => {
      seen.push(batch);
      return batch.caughtUp;
    });
    ended.abort();
    expect(events).toHaveLength(40);
    expect(Math.max(...seen.map((batch) => batch.events.length))).toBeLessThanOrEqual(18);
    expect(await readIds(made.store, stream)).toEqual(events.map((event) => event.id));
    expect(await toArray(made.store.readStream(stream, { direction: 'backward' }))).toEqual(
      events.toReversed(),
    );
  });
});

describe('streams that are read together', () => {
  it('do not fail together', async () => {
    const made = await makePostgresStore();
    const streams = [...Array(6).keys()].map(() => newStream());
    for (const stream of streams) await made.store.append(stream, sampleEvents(1), 'no-stream');
    const bad = streams[2];
    const asked: string[] = [];
    const pool = new Proxy(made.pool, {
      get: (target, name: keyof typeof made.pool) =>
        name === 'query'
          ? async (config: QueryConfig) => {
              asked.push(config.name ?? '');
              const isBad = config.name === 'read_streams' || config.values?.[0] === bad;
              if (isBad) throw new Error('canceling statement due to statement timeout');
              return target.query(config);
            }
          : target[name],
    });
    const { readStream } = createLogReader(pool);
    const read = await Promise.allSettled(streams.map((stream) => toArray(readStream(stream))));
    expect(read.map(({ status }) => status)).toEqual(
      streams.map((stream) => (stream === bad ? 'rejected' : 'fulfilled')),
    );
    expect(asked).toEqual(['read_streams', ...streams.map(() => 'read_stream')]);
    expect(read[2]).toMatchObject({ reason: expect.any(EventStoreUnavailableError) });
    await made.dispose();
  });
});

describe('a damaged log', () => {
  let made: StoreOnDatabase;
  beforeAll(async () => {
    made = await makePostgresStore();
    await made.store.append(newStream(), sampleEvents(30), 'no-stream');
  });
  afterAll(() => made.dispose());

  it('stops a waiting subscription when the log is replaced by an older one', async () => {
    const options = { after: await made.store.head(), signal: new AbortController().signal };
    const tail = toArray(made.store.subscribeToAll(options));
    const refused = expect(tail).rejects.toBeInstanceOf(LogGapError);
    await made.pool.query('delete from events where position > 25');
    await refused;
  });

  it('stops a subscription at a missing position, with and without a filter', async () => {
    await made.pool.query('delete from events where position = 12');
    const signal = new AbortController().signal;
    await expect(toArray(made.store.subscribeToAll({ after: START, signal }))).rejects.toBeInstanceOf(
      LogGapError,
    );
    const filtered = { after: START, signal, batchSize: 5, filter: { categories: ['none'] } };
    await expect(toArray(made.store.subscribeToAll(filtered))).rejects.toBeInstanceOf(LogGapError);
  });
});
