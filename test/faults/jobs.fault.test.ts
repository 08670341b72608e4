import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '../../src/shared/backoff.ts';
import { createLog } from '../../src/shared/log.ts';
import { openBullmqQueue } from '../../src/shared/queue/bullmq-queue.ts';
import type { JobBackend } from '../../src/shared/queue/job-backend.ts';
import type { JobQueue } from '../../src/shared/queue/job-queue.ts';
import { openJobBackend } from '../../src/shared/queue/running-jobs.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { describeWithRedis } from '../support/describe-with-redis.ts';
import { createTestRedis } from '../support/test-redis.ts';
import { until } from '../support/toy-projection.ts';
import { testProgram } from '../support/bundles.ts';

/** A worker that is killed in the middle of a job, and the one that takes over, too. */

const log = createLog('silent');
/** Of the workers, one after the other. */
const CLOCKS_AHEAD_MS = [0, 300_000, -300_000, 0] as const;
const KEEPS_MS = 8_000;
const program = testProgram('support/job-worker-process.js');

interface Told {
  readonly open?: true;
  readonly began?: string;
  readonly ended?: string;
}

interface Worker {
  readonly process: ChildProcess;
  readonly told: Told[];
}

const killTest = (store: () => Promise<{ redisUrl: string; keyPrefix: string; clear(): Promise<void> }>) => {
  let database: TestDatabase;
  let redis: Awaited<ReturnType<typeof store>>;
  let backend: JobBackend;
  let queue: JobQueue;
  const name = `q-${randomBytes(6).toString('hex')}`;
  const workers: Worker[] = [];
  beforeAll(async () => {
    database = await createTestDatabase();
    redis = await store();
    const redisUrl = redis.redisUrl === '' ? undefined : redis.redisUrl;
    backend = await openJobBackend(
      { databaseUrl: database.url, redisUrl, redisKeyPrefix: redis.keyPrefix },
      log,
    );
    queue = await openBullmqQueue({ name, backend, log, metrics: { ended: () => undefined } });
  });
  afterAll(async () => {
    for (const { process } of workers) process.kill('SIGKILL');
    await queue.close();
    await backend.close();
    await redis.clear();
    await database.drop();
  });

  const startWorker = async (holdMs: number, aheadMs: number): Promise<Worker> => {
    const where = [database.url, redis.redisUrl, redis.keyPrefix];
    const child = fork(program, [...where, name, String(holdMs), String(aheadMs)]);
    const worker: Worker = { process: child, told: [] };
    child.on('message', (message) => void worker.told.push(message as Told));
    workers.push(worker);
    await until(async () => worker.told.some(({ open }) => open === true), 20_000);
    return worker;
  };

  it('a killed worker’s job runs again within 15 s, as often as that happens, whatever the clocks say', async () => {
    const ids = ['job-a', 'job-b', 'job-c', 'job-d'];
    const holding = (worker: Worker) => async () =>
      ids.every((id) => worker.told.some(({ began }) => began === id));
    let victim = await startWorker(600_000, CLOCKS_AHEAD_MS[0]);
    await Promise.all(ids.map((id) => queue.enqueue({ id, data: {} })));
    await until(holding(victim), 20_000);
    const tookMs: number[] = [];
    for (const [kill, aheadMs] of CLOCKS_AHEAD_MS.slice(1).entries()) {
      const heir = await startWorker(kill === 2 ? 0 : 600_000, aheadMs);
      // Longer than a lock and two looks for stalled jobs: a worker that is well keeps its jobs. Redis keeps time itself.
      if (kill === 0 && backend.kind === 'postgres') await sleep(KEEPS_MS);
      expect(heir.told.filter(({ began }) => began !== undefined)).toEqual([]);
      victim.process.kill('SIGKILL');
      tookMs.push(Math.round(await until(holding(heir), 40_000)));
      victim = heir;
    }
    await until(async () => {
      const live = await Promise.all(ids.map((id) => queue.hasLiveJob(id)));
      return live.every((isLive) => !isLive);
    });
    console.log(`${backend.kind}: 4 jobs ran again ${tookMs.join(', ')} ms after their worker was killed`);
    expect(Math.max(...tookMs)).toBeLessThan(15_000);
    for (const id of ids) expect(victim.told.filter(({ ended }) => ended === id)).toHaveLength(1);
  }, 180_000);
};

describe('jobs in Postgres', () => {
  killTest(async () => ({ redisUrl: '', keyPrefix: '', clear: async () => undefined }));
});

const describeRedis = await describeWithRedis();
describeRedis('jobs in Redis', () => {
  const redis = createTestRedis();
  killTest(async () => ({ redisUrl: redis.url, keyPrefix: redis.keyPrefix, clear: () => redis.clear() }));
});
