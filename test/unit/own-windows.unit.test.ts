import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, expect, it, jest } from '@jest/globals';
import { OwnWindows } from '../../shared/limits/own-windows.ts';
import { amount } from '../support/amount.ts';
import { testProgram } from '../support/bundles.ts';

afterEach(() => void jest.restoreAllMocks());

const SPRAY = amount(110_000, 1_000_000);
const options = { keyPrefix: 'address', points: 100, duration: 60 };

it('subjects beyond the maximum share one window; subjects with a window keep it', async () => {
  let now = 1_000;
  jest.spyOn(Date, 'now').mockImplementation(() => now);
  const windows = new OwnWindows(options, undefined, 100);
  const count = async (subject: string): Promise<number> => (await windows.consume(subject)).consumedPoints;
  for (let n = 0; n < 100; n++) await count(`${n}`);
  const counts: number[] = [];
  for (let n = 100; n < 110; n++) counts.push(await count(`${n}`));
  expect(counts).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(await count('7')).toBe(2);
  // New windows open again when the old ones have closed.
  now += 120_000;
  expect(await count('1000')).toBe(1);
  expect(await count('1001')).toBe(1);
});

it(`memory stops growing at the maximum, under ${SPRAY} different addresses`, async () => {
  const program = testProgram('support/rate-spray-process.js');
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', program, String(SPRAY)]);
  const [before = 0, full = 0, after = 0] = JSON.parse(stdout) as readonly number[];
  expect(full - before).toBeLessThan(100_000_000);
  expect(after - full).toBeLessThan(10 * SPRAY);
}, 60_000);
