import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { openBullmqQueue } from '../../shared/queue/bullmq-queue.ts';
import type { JobBackend } from '../../shared/queue/job-backend.ts';
import { createJobMetrics } from '../../shared/queue/job-metrics.ts';
import type { HandleJob, JobQueue, JobRun, JobProcessor } from '../../shared/queue/job-queue.ts';
import { until } from '../support/until.ts';

export interface OpenedBackend {
  readonly backend: JobBackend;
  dispose(): Promise<void>;
}

const log = pino({ level: 'silent' });

/** Tests every promise of the job queue. Every backend runs them, each test on a new queue. */
export const jobQueueContract = (open: () => Promise<OpenedBackend>): void => {
  let opened: OpenedBackend;
  const registry = new Registry();
  const metrics = createJobMetrics(registry, [], async () => ({}));
  const queues: JobQueue[] = [];
  const running: JobProcessor[] = [];
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(async () => {
    await Promise.all(running.map((processing) => processing.stop(2_000)));
    await Promise.all(queues.map((queue) => queue.close()));
    await opened.dispose();
  });

  const openQueue = async (name: string): Promise<JobQueue> => {
    const queue = await openBullmqQueue({ name, backend: opened.backend, log, metrics });
    queues.push(queue);
    return queue;
  };
  const newQueue = (): Promise<JobQueue> => openQueue(`q-${randomBytes(6).toString('hex')}`);
  const work = async (queue: JobQueue, handle: HandleJob, concurrency = 4): Promise<JobProcessor> => {
    const processing = await queue.process(handle, concurrency);
    running.push(processing);
    return processing;
  };
  const outcomes = async (): Promise<string> => (await registry.metrics()).replaceAll(/^#.*\n/gm, '');

  it('runs a job once, with its data', async () => {
    const queue = await newQueue();
    const runs: JobRun[] = [];
    await work(queue, async (run) => void runs.push(run));
    await queue.enqueue({ id: 'one', data: { record: 7, deep: { list: [1, null, 'ü'] } } });
    await until(async () => runs.length > 0);
    expect(runs[0]).toMatchObject({
      id: 'one',
      data: { record: 7, deep: { list: [1, null, 'ü'] } },
      attempt: 1,
      isLastAttempt: false,
    });
    await until(async () => !(await queue.hasLiveJob('one')));
    expect(runs).toHaveLength(1);
    await until(async () => /outcome="completed"} [1-9]/.test(await outcomes()));
  });

  it('keeps one job of an id while it waits or runs, however often it is enqueued', async () => {
    const queue = await newQueue();
    await Promise.all(Array.from({ length: 10 }, () => queue.enqueue({ id: 'same', data: {} })));
    expect([await queue.waiting(), await queue.hasLiveJob('same')]).toEqual([1, true]);
    let runs = 0;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await work(queue, async () => {
      runs += 1;
      await held;
    });
    await until(async () => runs === 1);
    await queue.enqueue({ id: 'same', data: {} });
    expect(await queue.hasLiveJob('same')).toBe(true);
    release();
    await until(async () => !(await queue.hasLiveJob('same')));
    expect(runs).toBe(1);
  });

  it('runs a finished job again when it is enqueued again', async () => {
    const queue = await newQueue();
    let runs = 0;
    await work(queue, async () => void (runs += 1));
    for (const expected of [1, 2, 3]) {
      await queue.enqueue({ id: 'again', data: {} });
      await until(async () => runs === expected && !(await queue.hasLiveJob('again')));
    }
    expect(runs).toBe(3);
  });

  it('has no live job for an unknown id', async () => {
    const queue = await newQueue();
    expect([await queue.hasLiveJob('never'), await queue.waiting()]).toEqual([false, 0]);
  });

  it('retries a failed job with increasing delays, up to the last attempt', async () => {
    const queue = await newQueue();
    const runs: { attempt: number; isLastAttempt: boolean; at: number }[] = [];
    await work(queue, async ({ attempt, isLastAttempt }) => {
      runs.push({ attempt, isLastAttempt, at: performance.now() });
      throw new Error('broken');
    });
    await queue.enqueue({ id: 'failing', data: {} });
    await until(async () => runs.length === 1);
    expect(await queue.hasLiveJob('failing')).toBe(true);
    await until(async () => runs.length === 3 && !(await queue.hasLiveJob('failing')), 20_000);
    expect(runs.map(({ attempt, isLastAttempt }) => [attempt, isLastAttempt])).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ]);
    const pauses = [1, 2].map((n) => (runs[n]?.at ?? 0) - (runs[n - 1]?.at ?? 0));
    expect(pauses.map((ms, n) => ms > 400 * 2 ** n)).toEqual([true, true]);
    await until(async () => /outcome="failed"} [1-9]/.test(await outcomes()));
    expect(await outcomes()).toMatch(/outcome="retried"} [2-9]/);
    await queue.enqueue({ id: 'failing', data: {} });
    expect(await queue.hasLiveJob('failing')).toBe(true);
  });

  it('distributes jobs among workers, each within its concurrency', async () => {
    const name = `q-${randomBytes(6).toString('hex')}`;
    const [one, other] = [await openQueue(name), await openQueue(name)];
    const ran = new Map<string, number>();
    const now = [0, 0];
    const most = [0, 0];
    const handle =
      (worker: 0 | 1): HandleJob =>
      async ({ id }) => {
        now[worker] = (now[worker] ?? 0) + 1;
        most[worker] = Math.max(most[worker] ?? 0, now[worker]);
        ran.set(id, (ran.get(id) ?? 0) + 1);
        await new Promise((resolve) => setTimeout(resolve, 20));
        now[worker] -= 1;
      };
    await work(one, handle(0), 3);
    await work(other, handle(1), 2);
    await Promise.all(Array.from({ length: 60 }, (_, n) => one.enqueue({ id: `job-${n}`, data: {} })));
    await until(async () => ran.size === 60, 20_000);
    expect([...ran.values()].every((runs) => runs === 1)).toBe(true);
    expect(most[0]).toBeLessThanOrEqual(3);
    expect(most[1]).toBeLessThanOrEqual(2);
  });

  it('returns running jobs when it is stopped, and another worker runs them', async () => {
    const queue = await newQueue();
    const runs: number[] = [];
    const processing = await work(queue, async ({ attempt, signal }) => {
      runs.push(attempt);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      throw new Error('the process ends');
    });
    await queue.enqueue({ id: 'long', data: {} });
    await until(async () => runs.length === 1);
    await processing.stop(100);
    expect(await queue.hasLiveJob('long')).toBe(true);
    await work(queue, async ({ attempt }) => void runs.push(attempt));
    await until(async () => runs.length === 2 && !(await queue.hasLiveJob('long')), 20_000);
    expect(runs).toEqual([1, 2]);
  });

  it.each(['12', '0', 'with:colon', '', 'a b', 'x'.repeat(129)])('refuses %j as an id', async (id) => {
    const queue = await newQueue();
    await expect(queue.enqueue({ id, data: {} })).rejects.toThrow(RangeError);
  });
};
