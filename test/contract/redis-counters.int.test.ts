import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { createRedisCounters, type RedisCounters } from '../../src/shared/limits/redis-counters.ts';
import { describeWithRedis } from '../support/describe-with-redis.ts';
import { createTestRedis } from '../support/test-redis.ts';
import { until } from '../support/toy-projection.ts';
import { windowCountersContract } from './window-counters.contract.ts';

const describeRedis = await describeWithRedis();
const testRedis = createTestRedis();

const open = async (): Promise<RedisCounters> => {
  const counters = createRedisCounters(testRedis.url, testRedis.keyPrefix, pino({ level: 'silent' }));
  await until(() =>
    counters.read('ready').then(
      () => true,
      () => false,
    ),
  );
  return counters;
};

describeRedis('counters in Redis', () => {
  windowCountersContract(async () => {
    const [one, other] = [await open(), await open()];
    return {
      one,
      other,
      dispose: async () => {
        one.close();
        other.close();
        await testRedis.clear();
      },
    };
  });

  it('leaves no counter without an end', async () => {
    const counters = await open();
    const redis = new Redis(testRedis.url);
    try {
      await counters.count('credential:end', 60);
      const [key = ''] = await redis.keys(`${testRedis.keyPrefix}*credential:end`);
      expect(await redis.pttl(key)).toBeGreaterThan(0);
      // As after a crash between counting and setting the end, had they been two steps.
      await redis.persist(key);
      expect(await counters.count('credential:end', 60)).toMatchObject({ count: 2 });
      expect(await redis.pttl(key)).toBeGreaterThan(0);
    } finally {
      redis.disconnect();
      counters.close();
    }
  });

  it('starts over when Redis was emptied', async () => {
    const counters = await open();
    await counters.count('credential:flushed', 60);
    await testRedis.clear();
    expect(await counters.count('credential:flushed', 60)).toMatchObject({ count: 1 });
    counters.close();
  });

  it('knows what Redis does when its memory is full', async () => {
    const counters = await open();
    await until(async () => counters.evictionPolicy !== undefined);
    expect(counters.evictionPolicy).toMatch(/^(noeviction|allkeys-|volatile-)/);
    counters.close();
  });
});
