import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { createMemoryCounters } from '../../src/shared/limits/memory-counters.ts';
import { windowCountersContract } from './window-counters.contract.ts';
import { amount } from '../support/amount.ts';

/** Without what is only garbage. */
const heapUsed = (): number => {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
};

const SPRAY = amount(210_000, 1_000_000);

describe('counters in memory', () => {
  windowCountersContract(async () => {
    const counters = createMemoryCounters();
    return { one: counters, other: counters, dispose: async () => undefined };
  });

  it('closes a window at its very end, and not before', async () => {
    let now = 1_000;
    const counters = createMemoryCounters(() => now);
    await counters.count('a:1', 60);
    now += 59_999;
    expect(await counters.count('a:1', 60)).toEqual({ count: 2, msLeft: 1 });
    now += 1;
    expect(await counters.read('a:1')).toBeUndefined();
    expect(await counters.count('a:1', 60)).toEqual({ count: 1, msLeft: 60_000 });
  });

  it('holds no more subjects than it has room for; the others of a kind are counted as one', async () => {
    let now = 0;
    const counters = createMemoryCounters(() => now, 100);
    for (let n = 0; n < 100; n++) await counters.count(`address:${n}`, 60);
    const counts: number[] = [];
    for (let n = 100; n < 110; n++) counts.push((await counters.count(`address:${n}`, 60)).count);
    expect(counts).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    // Another kind is not hurt, and those that have a place keep it.
    expect((await counters.count('credential:a', 60)).count).toBe(1);
    expect((await counters.count('address:7', 60)).count).toBe(2);
    // Room again once windows have closed.
    now = 60_000;
    expect((await counters.count('address:1000', 60)).count).toBe(1);
    expect((await counters.count('address:1001', 60)).count).toBe(1);
  });

  it(`grows no more under a spray of ${SPRAY} addresses once it is full`, async () => {
    const counters = createMemoryCounters();
    const spray = async (from: number): Promise<number> => {
      for (let n = from; n < from + SPRAY; n++) {
        await counters.count(`address:2001:db8:${n.toString(16)}::/64`, 60);
      }
      return heapUsed();
    };
    const full = await spray(0);
    expect((await spray(SPRAY)) - full).toBeLessThan(10 * SPRAY);
    expect((await counters.count('credential:a', 60)).count).toBe(1);
  });
});
