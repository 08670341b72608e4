import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '../../shared/async/backoff.ts';
import { createLog } from '../../app/log.ts';
import { openBullmqQueue } from '../../shared/queue/bullmq-queue.ts';
import { openJobBackend } from '../../shared/queue/running-jobs.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { describeWithRedis } from '../support/describe-with-redis.ts';
import { createTestRedis, type TestRedis } from '../support/test-redis.ts';
import { until } from '../support/toy-projection.ts';
import { testProgram } from '../support/bundles.ts';

/** A worker that is killed in the middle of a job, and the one that takes over, too. */

const log = createLog('silent');
const KILLS = 3;
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

interface Killed {
  readonly kind: string;
  /** From each kill to when the next worker has all of its jobs, ms. */
  readonly tookMs: readonly number[];
  /** Jobs that a worker began whose jobs another had, who was well. */
  readonly taken: readonly string[];
  /** How often each job ended at the last worker. */
  readonly ends: Readonly<Record<string, number>>;
}

/** @param redis where the jobs are; default: in Postgres */
const killWorkers = async (redis?: TestRedis): Promise<Killed> => {
  const name = `q-${randomBytes(6).toString('hex')}`;
  const database = await createTestDatabase();
  const backend = await openJobBackend(
    { databaseUrl: database.url, redisUrl: redis?.url, redisKeyPrefix: redis?.keyPrefix ?? '' },
    log,
  );
  const queue = await openBullmqQueue({ name, backend, log, metrics: { ended: () => undefined } });
  const workers: Worker[] = [];
  const startWorker = async (holdMs: number): Promise<Worker> => {
    const where = [database.url, redis?.url ?? '', redis?.keyPrefix ?? ''];
    const child = fork(program, [...where, name, String(holdMs)]);
    const worker: Worker = { process: child, told: [] };
    child.on('message', (message) => void worker.told.push(message as Told));
    workers.push(worker);
    await until(async () => worker.told.some(({ open }) => open === true), 60_000);
    return worker;
  };
  try {
    const ids = ['job-a', 'job-b', 'job-c', 'job-d'];
    const holding = (worker: Worker) => async () =>
      ids.every((id) => worker.told.some(({ began }) => began === id));
    let victim = await startWorker(600_000);
    await Promise.all(ids.map((id) => queue.enqueue({ id, data: {} })));
    await until(holding(victim), 60_000);
    const tookMs: number[] = [];
    const taken: string[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      const heir = await startWorker(kill === KILLS - 1 ? 0 : 600_000);
      // Longer than a lock and two looks for stalled jobs: a worker that is well keeps its jobs.
      if (kill === 0) await sleep(KEEPS_MS);
      taken.push(...heir.told.flatMap(({ began }) => began ?? []));
      victim.process.kill('SIGKILL');
      tookMs.push(Math.round(await until(holding(heir), 60_000)));
      victim = heir;
    }
    await until(async () => {
      const live = await Promise.all(ids.map((id) => queue.hasLiveJob(id)));
      return live.every((isLive) => !isLive);
    }, 60_000);
    const endsOf = (id: string): number => victim.told.filter(({ ended }) => ended === id).length;
    return {
      kind: backend.kind,
      tookMs,
      taken,
      ends: Object.fromEntries(ids.map((id) => [id, endsOf(id)])),
    };
  } finally {
    for (const { process } of workers) process.kill('SIGKILL');
    await queue.close();
    await backend.close();
    await redis?.clear();
    await database.drop();
  }
};

const describeRedis = await describeWithRedis();
const stores = [
  ['Postgres', describe, undefined],
  ['Redis', describeRedis, createTestRedis()],
] as const;

/** Both at once: nearly all of the time is waiting. */
const killed = new Map<string, Promise<Killed>>();
beforeAll(() => {
  for (const [store, describeStore, redis] of stores) {
    if (describeStore === describe.skip) continue;
    const report = killWorkers(redis);
    // Whoever waits for it hears of it.
    report.catch(() => undefined);
    killed.set(store, report);
  }
});

for (const [store, describeStore] of stores) {
  describeStore(`jobs in ${store}`, () => {
    it('of a killed worker run again within 15 s, as often as that happens', async () => {
      const report = await killed.get(store);
      console.log(
        `${report?.kind}: 4 jobs ran again ${report?.tookMs.join(', ')} ms after their worker was killed`,
      );
      expect(Math.max(...(report?.tookMs ?? [Infinity]))).toBeLessThan(15_000);
      expect(report?.taken).toEqual([]);
      expect(report?.ends).toEqual({ 'job-a': 1, 'job-b': 1, 'job-c': 1, 'job-d': 1 });
    }, 300_000);
  });
}
