import { randomUUID } from 'node:crypto';
import { Queue, Worker } from 'bullmq';
import { createAdcpAgent } from '../../command/workers/syndication/adcp-agent.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { createLog } from '../../app/log.ts';
import { createOutboundLines } from '../../shared/outbound/outbound-fetch.ts';
import { openJobBackend } from '../../shared/queue/running-jobs.ts';
import { steadyRate } from './steady-rate.ts';

/** BullMQ alone: its jobs call an agent or do nothing, and record nothing. */
export interface BareJobs {
  /** Runs `count` jobs. @returns jobs per second */
  rate(count: number): Promise<number>;
  close(): Promise<void>;
}

export interface BareJobsOptions {
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
  readonly concurrency: number;
  /** Absent: jobs do nothing. */
  readonly agentUrl?: string;
}

export const openBareJobs = async (options: BareJobsOptions): Promise<BareJobs> => {
  const { databaseUrl, redisUrl, concurrency, agentUrl } = options;
  const name = `bare-${randomUUID()}`;
  const log = createLog('silent');
  const backend = await openJobBackend(
    { databaseUrl, redisUrl, redisKeyPrefix: `bench-${process.pid}:` },
    log,
  );
  const { factory, connect, prefix } = backend;
  const settings = (to: 'add' | 'work') => ({
    connection: connect(to),
    ...(prefix === undefined ? {} : { prefix }),
  });
  const openLine = createOutboundLines({ allowLoopback: true, timeoutMs: 30_000, bytesMax: 1_000_000 });
  const callAgent = createAdcpAgent({ openLine, callMs: 30_000, clock: systemClock });
  const doneAt: number[] = [];
  let all = (): void => undefined;
  let wanted = 0;
  const handle = async (): Promise<void> => {
    if (agentUrl !== undefined) {
      const answer = await callAgent({
        agentUrl,
        protocol: 'MCP',
        token: undefined,
        task: 'sync_event_sources',
        request: { account: { account_id: 'a' }, event_sources: [{ event_source_id: 'web' }] },
        idempotencyKey: randomUUID(),
        signal: new AbortController().signal,
      });
      if (answer.outcome !== 'completed') throw new Error(`the agent answered ${answer.outcome}`);
    }
    doneAt.push(performance.now());
    if (doneAt.length === wanted) all();
  };
  const queue = new Queue(name, settings('add'), factory);
  const worker = new Worker(name, handle, { ...settings('work'), concurrency }, factory);
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
  return {
    rate: async (count) => {
      doneAt.length = 0;
      wanted = count;
      const done = new Promise<void>((resolve) => {
        all = resolve;
      });
      const opts = { removeOnComplete: true, removeOnFail: true };
      const jobs = Array.from({ length: count }, () => ({
        name,
        data: {},
        opts: { ...opts, jobId: `j-${randomUUID()}` },
      }));
      await queue.addBulk(jobs);
      await done;
      return steadyRate(doneAt);
    },
    close: async () => {
      await worker.close();
      await queue.close();
      await backend.close();
    },
  };
};
