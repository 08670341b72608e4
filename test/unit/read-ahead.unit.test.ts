import { getEventListeners } from 'node:events';
import { expect, it } from '@jest/globals';
import { withChildSignal } from '../../projections/engine/child-signal.ts';
import { lockKeyOf } from '../../projections/engine/leadership.ts';
import { readAhead } from '../../shared/async/read-ahead.ts';

const source = (count: number, taken: number[]) =>
  (async function* () {
    for (let n = 1; n <= count; n += 1) {
      taken.push(n);
      yield n;
    }
    throw new Error('broken');
  })();

it('reads one item ahead, but not at the end of the log', async () => {
  const taken: number[] = [];
  const seen: number[][] = [];
  const all = (async () => {
    for await (const n of readAhead(source(5, taken), (item) => item < 3)) {
      await new Promise((resolve) => setImmediate(resolve));
      seen.push([n, taken.length]);
    }
  })();
  await expect(all).rejects.toThrow('broken');
  expect(seen).toEqual([
    [1, 2],
    [2, 3],
    [3, 3],
    [4, 4],
    [5, 5],
  ]);
});

it('requests the next item before the current one is processed, even by a synchronous consumer', async () => {
  const asked: number[] = [];
  const asking = async function* (): AsyncGenerator<number> {
    for (let n = 1; n <= 3; n += 1) {
      // Like a pool that returns a connection.
      await new Promise<void>((resolve) => process.nextTick(resolve));
      asked.push(n);
      yield n;
    }
  };
  const seen: number[][] = [];
  for await (const n of readAhead(asking(), (item) => item < 3)) seen.push([n, asked.length]);
  expect(seen).toEqual([
    [1, 2],
    [2, 3],
    [3, 3],
  ]);
});

it('returns every item before an error that occurs meanwhile', async () => {
  const seen: number[] = [];
  const all = (async () => {
    for await (const n of readAhead(source(2, []), () => true)) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      seen.push(n);
    }
  })();
  await expect(all).rejects.toThrow('broken');
  expect(seen).toEqual([1, 2]);
});

it('a child signal ends with its work or its parent, and leaves no listener', async () => {
  const parent = new AbortController();
  const signals: AbortSignal[] = [];
  for (let n = 0; n < 100; n += 1) {
    await withChildSignal(parent.signal, async ({ signal }) => signals.push(signal)).catch(() => undefined);
  }
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
  expect(getEventListeners(parent.signal, 'abort')).toEqual([]);
  const isEnded = withChildSignal(parent.signal, async ({ signal }) => {
    parent.abort();
    return signal.aborted;
  });
  expect(await isEnded).toBe(true);
  expect(await withChildSignal(parent.signal, async ({ signal }) => signal.aborted)).toBe(true);
});

it('a lock key is stable and fits an int4', () => {
  expect(lockKeyOf('advertisers')).toBe(lockKeyOf('advertisers'));
  for (let n = 0; n < 1_000; n += 1) {
    const key = lockKeyOf(`projection-${n}`);
    expect(key).toBeGreaterThanOrEqual(0);
    expect(key).toBeLessThan(2 ** 31);
  }
});
