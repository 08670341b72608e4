import { describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { pino } from 'pino';
import { openPostgresJobs } from '../../shared/queue/postgres-jobs.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { jobQueueContract } from './job-queue.contract.ts';

const log = pino({ level: 'silent' });

describe('jobs in Postgres', () => {
  jobQueueContract(async () => {
    const database = await createTestDatabase();
    const backend = await openPostgresJobs(database.url, log);
    return {
      backend,
      dispose: async () => {
        await backend.close();
        await database.drop();
      },
    };
  });

  it('creates its tables once when many processes start together', async () => {
    const database = await createTestDatabase();
    const backends = await Promise.all(Array.from({ length: 6 }, () => openPostgresJobs(database.url, log)));
    await Promise.all(backends.map((backend) => backend.close()));
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const before = await client.query('select version, applied_at from bullmq.migration order by version');
    await (await openPostgresJobs(database.url, log)).close();
    const after = await client.query('select version, applied_at from bullmq.migration order by version');
    await client.end();
    await database.drop();
    expect(before.rows.length).toBeGreaterThan(0);
    expect(after.rows).toEqual(before.rows);
  });

  it("refuses to open on a machine whose clock differs from the database's", async () => {
    const database = await createTestDatabase();
    for (const aheadMs of [-60_000, 60_000]) {
      const clock = { now: () => Date.now() + aheadMs };
      await expect(openPostgresJobs(database.url, log, clock)).rejects.toThrow(/clock is -?(59|60)\d{3} ms/);
    }
    await database.drop();
  });

  it('opens with a warning where the clocks differ by more than a second', async () => {
    const database = await createTestDatabase();
    const warnings: unknown[] = [];
    const noting = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(JSON.parse(line)) });
    for (const aheadMs of [0, 1_800]) {
      const backend = await openPostgresJobs(database.url, noting, { now: () => Date.now() + aheadMs });
      await backend.close();
    }
    await database.drop();
    expect(warnings).toMatchObject([{ aheadMs: expect.closeTo(1_800, -3) }]);
  });

  it('uses at most the given number of connections', async () => {
    const database = await createTestDatabase();
    const backend = await openPostgresJobs(database.url, log);
    const { openBullmqQueue } = await import('../../shared/queue/bullmq-queue.ts');
    const metrics = { ended: () => undefined };
    const queue = await openBullmqQueue({ name: 'few', backend, log, metrics });
    const processing = await queue.process(async () => undefined, 50);
    await queue.enqueue(...Array.from({ length: 200 }, (_, n) => ({ id: `job-${n}`, data: {} })));
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
    await client.end();
    await processing.stop(5_000);
    await queue.close();
    await backend.close();
    await database.drop();
    expect(rows[0]?.n).toBeLessThanOrEqual(10);
  });
});
