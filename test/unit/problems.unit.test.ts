import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { check } from '../../shared/http/problems.ts';

const Numbers = z.object({ numbers: z.array(z.int().min(1).max(10)) });

/** The least processor time of five runs, in microseconds, to check a list of `count` wrong members. */
const checkTime = (count: number): number => {
  const numbers: readonly string[] = Array.from({ length: count }, () => 'none');
  const times = [1, 2, 3, 4, 5].map(() => {
    const before = process.cpuUsage();
    expect(check(Numbers, { numbers }).problems).toHaveLength(count);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return Math.min(...times);
};

describe('the problems of a value', () => {
  it('are found in linear time', () => {
    checkTime(2_000);
    // 8 times as many problems take 8 times as long, or 64 times if each is compared with every other.
    expect(checkTime(16_000)).toBeLessThan(32 * checkTime(2_000));
  });

  it('name only the stricter of two limits, in any order', () => {
    const limited = (...limits: readonly number[]) =>
      limits.reduce((schema, limit) => schema.max(limit), z.number());
    for (const schema of [limited(10, 20), limited(20, 10)]) {
      expect(check(schema, 30).problems).toEqual([
        { path: '', message: 'must be at most 10', code: 'too_big' },
      ]);
    }
    expect(check(Numbers, { numbers: [-1e300] }).problems).toEqual([
      { path: 'numbers.0', message: 'must be at least 1', code: 'too_small' },
    ]);
  });
});
