import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { check } from '../../shared/http/problems.ts';

const Numbers = z.object({ numbers: z.array(z.int().min(1).max(10)) });

/** The shortest time of three, in milliseconds, in which a list of so many wrong members is judged. */
const judged = (count: number): number => {
  const numbers: readonly string[] = Array.from({ length: count }, () => 'none');
  const times = [1, 2, 3].map(() => {
    const startedAt = performance.now();
    expect(check(Numbers, { numbers }).problems).toHaveLength(count);
    return performance.now() - startedAt;
  });
  return Math.min(...times);
};

describe('what is wrong with a value', () => {
  it('is said in a time that grows with the number of problems, not with its square', () => {
    judged(500);
    // 16 times as many problems: in 16 times the time, or 256 times where each is compared with every other.
    expect(judged(8_000)).toBeLessThan(64 * judged(500));
  });

  it('names of two limits of one value only the tighter one, whichever comes first', () => {
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
