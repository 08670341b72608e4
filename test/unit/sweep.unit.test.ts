import { expect, it } from '@jest/globals';
import { sleep } from '../../shared/async/backoff.ts';
import { EventStoreUnavailableError } from '../../shared/event-store/event-store.ts';
import { createSweep, SweepError } from '../../shared/work-list/sweep.ts';

const PAGE = 10;

/** @param failing the error of a number, if it fails */
const numbers = (count: number, failing: (n: number) => Error | undefined = () => undefined) => {
  const due = new Set(Array.from({ length: count }, (_, n) => n));
  const tried: number[] = [];
  const pages: number[] = [];
  const find = async (after: number | undefined, rowsMax: number): Promise<readonly number[]> => {
    const page = [...due].filter((n) => n > (after ?? -1)).slice(0, rowsMax);
    pages.push(page.length);
    return page;
  };
  const work = async (n: number): Promise<void> => {
    tried.push(n);
    const error = failing(n);
    if (error !== undefined) throw error;
    due.delete(n);
  };
  return { due, tried, pages, find, work };
};

const poisoned = (n: number): Error | undefined => (n < 30 ? new Error(`number ${n}`) : undefined);

it('all due items are processed in one run, after any number of failures, which are logged once and retried', async () => {
  const all = numbers(2_530, poisoned);
  const sweep = createSweep(all);
  await expect(sweep.purge(PAGE)).rejects.toMatchObject({
    name: 'SweepError',
    message: '30 could not be done, 2500 were',
    failed: 30,
    done: 2_500,
    cause: expect.objectContaining({ message: 'number 0' }),
  });
  expect([...all.due]).toEqual(Array.from({ length: 30 }, (_, n) => n));
  expect(all.tried).toHaveLength(2_530);
  await expect(sweep.purge(PAGE)).rejects.toMatchObject({ failed: 30, done: 0 });
  expect(all.tried).toHaveLength(2_560);
});

it('a run that reaches its time limit is continued after the last item, then the list restarts', async () => {
  const all = numbers(35, (n) => (n < 5 ? new Error('bad') : undefined));
  const slow = async (n: number): Promise<void> => {
    await sleep(10);
    await all.work(n);
  };
  const sweep = createSweep({ find: all.find, work: slow }, 40);
  let runs = 0;
  while (all.due.size > 5) {
    await sweep.purge(PAGE).catch((error: unknown) => expect(error).toBeInstanceOf(SweepError));
    runs += 1;
  }
  expect(runs).toBeGreaterThan(5);
  // Every item was tried once before any was tried twice.
  expect(all.tried).toEqual(Array.from({ length: 35 }, (_, n) => n));
  while (all.tried.length === 35) await sweep.purge(PAGE).catch(() => undefined);
  expect(all.tried[35]).toBe(0);
});

it('an unavailable store ends the run soon, and failed items wait for the others', async () => {
  let isUnavailable = true;
  const all = numbers(25, () => (isUnavailable ? new EventStoreUnavailableError('unavailable') : undefined));
  const sweep = createSweep(all);
  await expect(sweep.purge(PAGE)).rejects.toMatchObject({ failed: 5, done: 0 });
  isUnavailable = false;
  expect(await sweep.purge(PAGE)).toBe(0);
  expect([...all.due]).toEqual([0, 1, 2, 3, 4]);
  expect(await sweep.purge(PAGE)).toBe(0);
  expect(all.due.size).toBe(0);
});

it('rows that still list a processed item are not read again in the same run', async () => {
  const all = numbers(25);
  const sweep = createSweep({ find: all.find, work: async (n) => void all.tried.push(n) });
  expect(await sweep.purge(PAGE)).toBe(0);
  expect(all.tried).toHaveLength(25);
  expect(all.pages).toEqual([10, 10, 5]);
});

it('a run ends with its process', async () => {
  const ending = new AbortController();
  const all = numbers(25);
  const sweep = createSweep({
    find: all.find,
    work: async (n) => {
      await all.work(n);
      if (n === 2) ending.abort();
    },
  });
  expect(await sweep.purge(PAGE, ending.signal)).toBe(0);
  expect(all.tried).toEqual([0, 1, 2]);
});
