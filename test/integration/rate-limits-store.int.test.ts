import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { isOver } from '../../shared/limits/limiter.ts';
import { specifiedLimits, type LimitName } from '../../shared/limits/limits.ts';
import { createRateLimits, type RateLimits } from '../../shared/limits/rate-limits.ts';
import { createPool } from '../../shared/postgres/pool.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const log = pino({ level: 'silent' });
const open = (options: {
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  readonly nodes?: number;
}): RateLimits =>
  createRateLimits({
    limits: specifiedLimits,
    nodes: 2,
    databaseUrl: '',
    redisKeyPrefix: 'test:',
    log,
    registry: new Registry(),
    ...options,
  });

/** A decision may take 200 ms; the rest allows for a busy machine. */
const IN_TIME_MS = 2_000;

describe('without their store', () => {
  let silent: Server;
  let opened: RateLimits | undefined;
  beforeAll(async () => {
    silent = createServer((socket) => void socket.on('error', () => undefined));
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
  });
  afterEach(() => opened?.close());
  afterAll(() => void silent.close());

  const port = (): number => (silent.address() as AddressInfo).port;
  const stores = [
    ['an absent Redis', () => ({ redisUrl: 'redis://127.0.0.1:1' })],
    ['a silent Redis', () => ({ redisUrl: `redis://127.0.0.1:${port()}` })],
    ['an absent Postgres', () => ({ databaseUrl: 'postgres://127.0.0.1:1/x' })],
    ['a silent Postgres', () => ({ databaseUrl: `postgres://127.0.0.1:${port()}/x` })],
  ] as const;

  it.each(stores)('each of two processes allows half of every limit: %s', async (_what, at) => {
    opened = open(at());
    const { limiter, readiness } = opened;
    for (const name of Object.keys(specifiedLimits) as LimitName[]) {
      const { requests } = specifiedLimits[name];
      const startedAt = performance.now();
      const counts = await Promise.all(
        Array.from({ length: requests + 5 }, () => limiter.count(name, 'one')),
      );
      expect(performance.now() - startedAt).toBeLessThan(IN_TIME_MS);
      expect([name, counts.filter((count) => !isOver(count)).length]).toEqual([
        name,
        Math.ceil(requests / 2),
      ]);
      const counted = (await limiter.read(name, 'one'))?.count;
      expect([name, counted]).toEqual([name, requests]);
    }
    expect(await readiness.check()).toMatchObject({ ready: true, detail: { counted: 'by each process' } });
  });

  it.each([
    [1, 100],
    [3, 34],
    [8, 13],
    [1_000, 1],
  ])('each of %i processes allows its share of 100: %i', async (nodes, passed) => {
    opened = open({ redisUrl: 'redis://127.0.0.1:1', nodes });
    let count = 0;
    for (let n = 0; n < 120; n++) if (!isOver(await opened.limiter.count('credential', 'a'))) count += 1;
    expect(count).toBe(passed);
  });

  it('after 30 failures, keys that this process verified are accepted, and others are refused', async () => {
    opened = open({ redisUrl: 'redis://127.0.0.1:1', nodes: 1 });
    const { failedCredentials } = opened;
    expect(await failedCredentials.refusalOf('a', 'known')).toBeUndefined();
    for (let n = 0; n < 30; n++) expect(await failedCredentials.countFailure('a')).toBeUndefined();
    expect(await failedCredentials.countFailure('a')).toMatchObject({ limit: 30 });
    expect(await failedCredentials.refusalOf('a', 'other')).toMatchObject({ limit: 30 });
    expect(failedCredentials.refusalOf('a', 'known')).toBeUndefined();
  });
});

describe('the table in Postgres', () => {
  let database: TestDatabase;
  let pool: Pool;
  beforeAll(async () => {
    database = await createTestDatabase();
    pool = createPool({ connectionString: database.url, applicationName: 'test-limits', max: 2 }, log);
    // With statistics, the planner would not use the index for so few rows.
    await pool.query('alter table rate_limits set (autovacuum_enabled = off)');
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  it.each(["'; drop table rate_limits; --", 'ä😀', 'x'.repeat(300)])(
    'accepts any text as subject, and counts it for two processes together: %s',
    async (text) => {
      const [one, other] = [open({ databaseUrl: database.url }), open({ databaseUrl: database.url })];
      let subject = text;
      // Uses a new subject if a busy machine made a process count by itself.
      const remaining = async (): Promise<readonly number[]> => {
        subject += '.';
        const counts = [
          await one.limiter.count('address', subject),
          await other.limiter.count('address', subject),
          await other.limiter.read('address', subject),
          await one.limiter.count('address', subject),
        ];
        return counts.map((count) => count?.count ?? 0);
      };
      await until(async () => (await remaining()).join() === '1,2,2,3');
      await Promise.all([one.close(), other.close()]);
    },
  );

  it('is purged of closed windows only, through its index', async () => {
    const limits = open({ databaseUrl: database.url });
    await pool.query('truncate rate_limits');
    await pool.query(
      `insert into rate_limits select 'address:' || n, 1, $1::bigint + (n - 25) * 60000
       from generate_series(1, 50) n`,
      [Date.now()],
    );
    expect([await limits.purge(20), await limits.purge(20), await limits.purge(20)]).toEqual([20, 5, 0]);
    const { rows } = await pool.query<{ open: number }>('select count(*)::int as open from rate_limits');
    expect(rows).toEqual([{ open: 25 }]);
    const plan = await pool.query<{ 'QUERY PLAN': string }>(
      'explain select key from rate_limits where expire <= 5 order by expire limit 1000 for update skip locked',
    );
    expect(plan.rows.map((row) => row['QUERY PLAN']).join('\n')).toContain(
      'Index Scan using rate_limits_by_end',
    );
    await limits.close();
  });
});
