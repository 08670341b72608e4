import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, it, jest } from '@jest/globals';
import { OwnWindows } from '../../shared/limits/own-windows.ts';
import { amount } from '../support/amount.ts';

afterEach(() => void jest.restoreAllMocks());

/** Without garbage. */
const heapUsed = (): number => {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
};

const SPRAY = amount(110_000, 1_000_000);
const options = { keyPrefix: 'address', points: 100, duration: 60 };

it('subjects beyond the maximum share one window; those that have a window keep it', async () => {
  let now = 1_000;
  jest.spyOn(Date, 'now').mockImplementation(() => now);
  const windows = new OwnWindows(options, undefined, 100);
  const count = async (subject: string): Promise<number> => (await windows.consume(subject)).consumedPoints;
  for (let n = 0; n < 100; n++) await count(`${n}`);
  const counts: number[] = [];
  for (let n = 100; n < 110; n++) counts.push(await count(`${n}`));
  expect(counts).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(await count('7')).toBe(2);
  // There is room again once all of those windows have closed.
  now += 120_000;
  expect(await count('1000')).toBe(1);
  expect(await count('1001')).toBe(1);
});

it(`memory grows no more under a spray of ${SPRAY} addresses once the maximum is reached`, async () => {
  const windows = new OwnWindows({ ...options, points: 10 * SPRAY });
  const before = heapUsed();
  const spray = async (from: number): Promise<number> => {
    for (let n = from; n < from + SPRAY; n++) await windows.consume(`2001:db8:${n.toString(16)}::/64`);
    return heapUsed();
  };
  const full = await spray(0);
  expect(full - before).toBeLessThan(100_000_000);
  expect((await spray(SPRAY)) - full).toBeLessThan(10 * SPRAY);
});
