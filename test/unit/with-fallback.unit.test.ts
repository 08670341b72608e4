import { describe, expect, it } from '@jest/globals';
import { createLimiter, isOver } from '../../src/shared/limits/limiter.ts';
import { specifiedLimits, type LimitName } from '../../src/shared/limits/limits.ts';
import { createMemoryCounters } from '../../src/shared/limits/memory-counters.ts';
import type { WindowCounters } from '../../src/shared/limits/window-counters.ts';
import { withFallback } from '../../src/shared/limits/with-fallback.ts';
import { until } from '../support/toy-projection.ts';

/** 200 ms are promised; the rest is room for a busy machine. */
const IN_TIME_MS = 2_000;

interface Store extends WindowCounters {
  state: 'there' | 'away' | 'stalled';
  asked: number;
}

const createStore = (): Store => {
  const counters = createMemoryCounters();
  const answer = <T>(ask: () => Promise<T>): Promise<T> => {
    store.asked += 1;
    if (store.state === 'away') return Promise.reject(new Error('connect ECONNREFUSED'));
    return store.state === 'stalled' ? new Promise<never>(() => undefined) : ask();
  };
  const store: Store = {
    state: 'there',
    asked: 0,
    count: (subject, seconds) => answer(() => counters.count(subject, seconds)),
    read: (subject) => answer(() => counters.read(subject)),
    reopen: (subject, seconds) => answer(() => counters.reopen(subject, seconds)),
  };
  return store;
};

const failingOver = (nodes = 1) => {
  const shared = createStore();
  const errors: string[] = [];
  const counters = withFallback({
    shared,
    own: createMemoryCounters(),
    nodes,
    onFallback: (error) => void errors.push(error instanceof Error ? error.message : String(error)),
  });
  return { shared, counters, errors };
};

describe('when the shared counters are away', () => {
  it('the process counts by itself, at once', async () => {
    const { shared, counters, errors } = failingOver();
    await counters.count('address:a', 60);
    shared.state = 'away';
    const startedAt = performance.now();
    expect((await counters.count('address:a', 60)).count).toBe(1);
    expect((await counters.count('address:a', 60)).count).toBe(2);
    expect(performance.now() - startedAt).toBeLessThan(IN_TIME_MS);
    expect(errors).toEqual(['connect ECONNREFUSED', 'connect ECONNREFUSED']);
  });

  it.each(['away', 'stalled'] as const)('(%s) no limit is ever open, and none is shut', async (state) => {
    const { shared, counters } = failingOver();
    shared.state = state;
    const limiter = createLimiter(specifiedLimits, counters);
    for (const name of Object.keys(specifiedLimits) as LimitName[]) {
      const { requests } = specifiedLimits[name];
      const standings = await Promise.all(
        Array.from({ length: requests + 5 }, () => limiter.count(name, 'somebody')),
      );
      expect([name, standings.filter((standing) => !isOver(standing)).length]).toEqual([name, requests]);
    }
  });

  it.each([
    [1, 100],
    [2, 50],
    [3, 34],
    [8, 13],
    [1_000, 1],
  ])('of %i nodes each lets its part of 100 pass: %i', async (nodes, passed) => {
    const { shared, counters } = failingOver(nodes);
    shared.state = 'away';
    const limiter = createLimiter(specifiedLimits, counters);
    let count = 0;
    for (let n = 0; n < 120; n++) if (!isOver(await limiter.count('credential', 'a'))) count += 1;
    expect(count).toBe(passed);
  });
});

describe('when the shared counters stall', () => {
  it('no request waits long, and after the first ones none waits at all', async () => {
    const { shared, counters } = failingOver();
    shared.state = 'stalled';
    const startedAt = performance.now();
    const first = await Promise.all(Array.from({ length: 50 }, () => counters.count('address:a', 60)));
    expect(performance.now() - startedAt).toBeLessThan(IN_TIME_MS);
    expect(Math.max(...first.map(({ count }) => count))).toBe(50);
    const asked = shared.asked;
    for (let n = 0; n < 1_000; n++) await counters.count('address:a', 60);
    // One try in a second; on a slow machine this may have taken some.
    expect(shared.asked - asked).toBeLessThan(10);
  });

  it('reading is answered in time as well', async () => {
    const { shared, counters } = failingOver();
    shared.state = 'stalled';
    const startedAt = performance.now();
    expect(await counters.read('address:a')).toBeUndefined();
    await counters.reopen('address:a', 60);
    expect((await counters.read('address:a'))?.count).toBe(1);
    expect(performance.now() - startedAt).toBeLessThan(IN_TIME_MS);
  });

  it('an answer that came during a stall of this process is no late answer', async () => {
    const counters = createMemoryCounters();
    let answered = 0;
    const guarded = withFallback({
      shared: {
        ...counters,
        // Answers from another turn of the event loop, as a socket does.
        count: async (subject, seconds) => {
          await new Promise((resolve) => setImmediate(resolve));
          answered += 1;
          return counters.count(subject, seconds);
        },
      },
      own: createMemoryCounters(),
      nodes: 1,
      onFallback: () => expect('no fallback').toBe(''),
    });
    const counting = guarded.count('address:a', 60);
    const startedAt = performance.now();
    while (performance.now() - startedAt < 300);
    expect((await counting).count).toBe(1);
    expect(answered).toBe(1);
  });
});

describe('when the shared counters are back', () => {
  it('nobody stays refused because of what one process counted alone', async () => {
    const { shared, counters } = failingOver(1_000);
    const limiter = createLimiter(specifiedLimits, counters);
    shared.state = 'away';
    await limiter.count('signup', 'somebody');
    expect(isOver(await limiter.count('signup', 'somebody'))).toBe(true);
    shared.state = 'there';
    await until(async () => !isOver(await limiter.count('signup', 'somebody')));
  });

  it('they are used again, with what they knew', async () => {
    const { shared, counters, errors } = failingOver();
    for (let n = 0; n < 5; n++) await counters.count('address:a', 60);
    shared.state = 'away';
    await counters.count('address:a', 60);
    shared.state = 'there';
    let count = 0;
    await until(async () => {
      const before = errors.length;
      ({ count } = await counters.count('address:a', 60));
      return errors.length === before;
    });
    expect(count).toBe(6);
  });
});
