import { expect, it } from '@jest/globals';
import { eachOf } from '../../src/shared/each-of.ts';

const numbers = Array.from({ length: 100 }, (_, n) => n);

it('each item has its turn, also behind one that fails; the first failure is thrown after', async () => {
  const done: number[] = [];
  const work = async (n: number): Promise<void> => {
    if (n % 30 === 0) throw new Error(`number ${n}`);
    done.push(n);
  };
  await expect(eachOf(numbers, work)).rejects.toThrow('number 0');
  expect(done).toEqual(numbers.filter((n) => n % 30 !== 0));
});

it('what fails again and again is given up', async () => {
  let tried = 0;
  const work = async (): Promise<void> => {
    tried += 1;
    throw new Error('away');
  };
  await expect(eachOf(numbers, work)).rejects.toThrow('away');
  expect(tried).toBe(20);
});
