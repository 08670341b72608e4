/**
 * A worker in a separate process, for tests to kill: `node job-worker-process.js DATABASE_URL REDIS_URL_OR_EMPTY
 * KEY_PREFIX QUEUE HOLD_MS`. Reports the start and the end of each run to its parent.
 */
import { Registry } from 'prom-client';
import { sleep } from '../../shared/async/backoff.ts';
import { createLog } from '../../app/log.ts';
import { startJobs } from '../../shared/queue/running-jobs.ts';

const [, , databaseUrl = '', redisUrl = '', redisKeyPrefix = '', name = '', holdMs = '0'] = process.argv;

const jobs = startJobs({
  store: { databaseUrl, redisUrl: redisUrl === '' ? undefined : redisUrl, redisKeyPrefix },
  kinds: [
    {
      name,
      concurrency: 4,
      handle: async ({ id, signal }) => {
        process.send?.({ began: id });
        await sleep(Number(holdMs), signal);
        process.send?.({ ended: id });
      },
    },
  ],
  log: createLog('silent'),
  registry: new Registry(),
});
const untilOpen = setInterval(() => {
  if (jobs.queue(name) === undefined) return;
  clearInterval(untilOpen);
  process.send?.({ open: true });
}, 20);
