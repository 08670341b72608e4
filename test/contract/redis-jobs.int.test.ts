import { expect, it } from '@jest/globals';
import { pino } from 'pino';
import { openRedisJobs } from '../../shared/queue/redis-jobs.ts';
import { describeWithRedis } from '../support/describe-with-redis.ts';
import { createTestRedis } from '../support/test-redis.ts';
import { jobQueueContract } from './job-queue.contract.ts';

const describeRedis = await describeWithRedis();
const testRedis = createTestRedis();
const log = pino({ level: 'silent' });

describeRedis('jobs in Redis', () => {
  jobQueueContract(async () => ({
    backend: await openRedisJobs(testRedis.url, testRedis.keyPrefix, log),
    dispose: () => testRedis.clear(),
  }));

  it('reports how Redis behaves when its memory is full', async () => {
    const backend = await openRedisJobs(testRedis.url, testRedis.keyPrefix, log);
    expect(backend.detail['evictionPolicy']).toMatch(/^(noeviction|allkeys-|volatile-)/);
  });

  it('fails to open, in bounded time, without Redis', async () => {
    await expect(openRedisJobs('redis://127.0.0.1:1', 'none:', log)).rejects.toThrow();
  });
});
