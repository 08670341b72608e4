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
import { until } from '../support/until.ts';
import { testProgram } from '../support/bundles.ts';

/** A worker is killed during a job. The worker that takes over is killed as well. */

const log = createLog('silent');
const KILLS = 3;
const KEEPS_MS = 8_000;
const program = testProgram('support/job-worker-process.js');

interface WorkerMessage {
  readonly open?: true;
  readonly began?: string;
  readonly ended?: string;
}

interface Worker {
  readonly process: ChildProcess;
  readonly messages: WorkerMessage[];
}

interface KillReport {
  readonly kind: string;
  /** Milliseconds from each kill until the next worker runs all jobs. */
  readonly tookMs: readonly number[];
  /** Jobs that a worker started although another, healthy worker held them. */
  readonly stolen: readonly string[];
  /** How often the last worker completed each job. */
  readonly ends: Readonly<Record<string, number>>;
}

/** @param redis the store of the jobs; default: Postgres */
const killWorkers = async (redis?: TestRedis): Promise<KillReport> => {
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
    const worker: Worker = { process: child, messages: [] };
    child.on('message', (message) => void worker.messages.push(message as WorkerMessage));
    workers.push(worker);
    await until(async () => worker.messages.some(({ open }) => open === true), 60_000);
    return worker;
  };
  try {
    const ids = ['job-a', 'job-b', 'job-c', 'job-d'];
    const holding = (worker: Worker) => async () =>
      ids.every((id) => worker.messages.some(({ began }) => began === id));
    let victim = await startWorker(600_000);
    await Promise.all(ids.map((id) => queue.enqueue({ id, data: {} })));
    await until(holding(victim), 60_000);
    const tookMs: number[] = [];
    const stolen: string[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      const successor = await startWorker(kill === KILLS - 1 ? 0 : 600_000);
      // Longer than a lock and two checks for stalled jobs: a healthy worker keeps its jobs.
      if (kill === 0) await sleep(KEEPS_MS);
      stolen.push(...successor.messages.flatMap(({ began }) => began ?? []));
      victim.process.kill('SIGKILL');
      tookMs.push(Math.round(await until(holding(successor), 60_000)));
      victim = successor;
    }
    await until(async () => {
      const live = await Promise.all(ids.map((id) => queue.hasLiveJob(id)));
      return live.every((isLive) => !isLive);
    }, 60_000);
    const endsOf = (id: string): number => victim.messages.filter(({ ended }) => ended === id).length;
    return {
      kind: backend.kind,
      tookMs,
      stolen,
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

/** Both run concurrently, because nearly all of the time is waiting. */
const killed = new Map<string, Promise<KillReport>>();
beforeAll(() => {
  for (const [store, describeStore, redis] of stores) {
    if (describeStore === describe.skip) continue;
    const report = killWorkers(redis);
    // The test that awaits the report receives its error.
    report.catch(() => undefined);
    killed.set(store, report);
  }
});

for (const [store, describeStore] of stores) {
  describeStore(`jobs in ${store}`, () => {
    it('run again within 15 s after their worker was killed, each time', async () => {
      const report = await killed.get(store);
      console.log(
        `${report?.kind}: 4 jobs ran again ${report?.tookMs.join(', ')} ms after their worker was killed`,
      );
      expect(Math.max(...(report?.tookMs ?? [Infinity]))).toBeLessThan(15_000);
      expect(report?.stolen).toEqual([]);
      expect(report?.ends).toEqual({ 'job-a': 1, 'job-b': 1, 'job-c': 1, 'job-d': 1 });
    }, 300_000);
  });
}
