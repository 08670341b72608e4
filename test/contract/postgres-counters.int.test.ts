import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { Pool } from 'pg';
import { createPostgresCounters } from '../../src/shared/limits/postgres-counters.ts';
import { createPool } from '../../src/shared/postgres/pool.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { windowCountersContract } from './window-counters.contract.ts';

const openPool = (url: string): Pool =>
  createPool(
    { connectionString: url, applicationName: 'test-limits', max: 2, asyncCommit: true },
    pino({ level: 'silent' }),
  );

describe('counters in Postgres', () => {
  windowCountersContract(async () => {
    const database = await createTestDatabase();
    const pools = [openPool(database.url), openPool(database.url)] as const;
    return {
      one: createPostgresCounters(pools[0]),
      other: createPostgresCounters(pools[1]),
      dispose: async () => {
        await Promise.all(pools.map((pool) => pool.end()));
        await database.drop();
      },
    };
  });
});

describe('the table of windows', () => {
  let database: TestDatabase;
  let pool: Pool;
  beforeAll(async () => {
    database = await createTestDatabase();
    pool = openPool(database.url);
    // It would know how few rows there are, and that no index is needed for them.
    await pool.query('alter table rate_windows set (autovacuum_enabled = off)');
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  it('counts many requests in few statements', async () => {
    let statements = 0;
    const counters = createPostgresCounters({
      query: ((...args: Parameters<Pool['query']>) => {
        statements += 1;
        return pool.query(...args);
      }) as Pool['query'],
    });
    const windows = await Promise.all(
      Array.from({ length: 200 }, (_, n) => counters.count(`credential:${n % 7}`, 60)),
    );
    expect(Math.max(...windows.map(({ count }) => count))).toBe(29);
    expect(statements).toBeLessThan(5);
  });

  it('locks nobody out, whatever the order in which two processes count the same subjects', async () => {
    const [one, other] = [createPostgresCounters(pool), createPostgresCounters(pool)];
    const subjects = Array.from({ length: 40 }, (_, n) => `address:10.0.0.${n}`);
    for (let round = 1; round <= 20; round++) {
      await Promise.all([
        ...subjects.map((subject) => one.count(subject, 60)),
        ...subjects.toReversed().map((subject) => other.count(subject, 60)),
      ]);
    }
    expect((await one.read('address:10.0.0.7'))?.count).toBe(40);
  });

  it('is purged of windows that have closed, and of no others', async () => {
    const counters = createPostgresCounters(pool);
    await pool.query(`truncate rate_windows`);
    await pool.query(
      `insert into rate_windows select 'address:' || n, 1, now() + (n - 25) * interval '1 minute'
       from generate_series(1, 50) n`,
    );
    expect(await counters.purge(20)).toBe(20);
    expect(await counters.purge(20)).toBe(5);
    expect(await counters.purge(20)).toBe(0);
    const { rows } = await pool.query<{ open: number }>('select count(*)::int as open from rate_windows');
    expect(rows).toEqual([{ open: 25 }]);
  });

  it('finds what is to be purged by its index', async () => {
    const { rows } = await pool.query<{ 'QUERY PLAN': string }>(
      `explain select subject from rate_windows where closes_at <= clock_timestamp()
       order by closes_at limit 1000 for update skip locked`,
    );
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain(
      'Index Scan using rate_windows_by_close',
    );
  });
});
