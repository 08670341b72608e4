import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sleep } from '../../src/shared/backoff.ts';
import { randomId } from '../../src/shared/ids.ts';
import type { WindowCounters } from '../../src/shared/limits/window-counters.ts';

export interface CountersUnderTest {
  /** Two processes' worth, on the same counters. */
  readonly one: WindowCounters;
  readonly other: WindowCounters;
  dispose(): Promise<void>;
}

/** Of the window that a test sees the end of. */
const WINDOW_SECONDS = 3;

/** What `window-counters.ts` promises. Called inside a `describe`; every adapter runs it. */
export const windowCountersContract = (make: () => Promise<CountersUnderTest>): void => {
  let made: CountersUnderTest;
  beforeAll(async () => {
    made = await make();
  });
  afterAll(() => made.dispose());
  const subject = (): string => `credential:${randomId()}`;
  const many = <T>(times: number, of: (n: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: times }, (_, n) => of(n)));

  it('counts from 1, in a window as long as asked', async () => {
    const { one } = made;
    const who = subject();
    const first = await one.count(who, 60);
    expect(first).toEqual({ count: 1, msLeft: expect.any(Number) });
    expect(first.msLeft).toBeGreaterThan(55_000);
    expect(first.msLeft).toBeLessThanOrEqual(60_000);
    expect((await one.count(who, 60)).count).toBe(2);
  });

  it('gives every number once, to callers at the same time in two processes', async () => {
    const { one, other } = made;
    const who = subject();
    const windows = await many(300, (n) => (n % 2 === 0 ? one : other).count(who, 60));
    expect(windows.map(({ count }) => count).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 300 }, (_, n) => n + 1),
    );
  });

  it('counts every subject by itself', async () => {
    const { one, other } = made;
    const subjects = Array.from({ length: 50 }, subject);
    const windows = await many(200, (n) => (n % 3 === 0 ? one : other).count(subjects[n % 50] ?? '', 60));
    expect(Math.max(...windows.map(({ count }) => count))).toBe(4);
    expect(windows.filter(({ count }) => count === 4)).toHaveLength(50);
  });

  it('has one end to a window, which counting does not move; the next count opens another', async () => {
    const { one, other } = made;
    const who = subject();
    /** As an answer that may have taken its time allows: not before, and not after. */
    const endOf = async (counters: WindowCounters, count: number): Promise<readonly [number, number]> => {
      const askedAt = performance.now();
      const window = await counters.count(who, WINDOW_SECONDS);
      expect(window.count).toBe(count);
      return [askedAt + window.msLeft, performance.now() + window.msLeft];
    };
    const [from, to] = await endOf(one, 1);
    for (let n = 2; n < 6; n++) {
      await sleep(200);
      const [notBefore, notAfter] = await endOf(n % 2 === 0 ? other : one, n);
      expect([n, notBefore < to + 50, notAfter > from - 50]).toEqual([n, true, true]);
    }
    await sleep(to - performance.now() + 50);
    expect(await other.read(who)).toBeUndefined();
    const next = await one.count(who, WINDOW_SECONDS);
    expect(next.count).toBe(1);
    expect(next.msLeft).toBeGreaterThan(1_000);
  });

  it('reads without counting', async () => {
    const { one, other } = made;
    const who = subject();
    expect(await one.read(who)).toBeUndefined();
    await many(3, () => one.count(who, 60));
    const windows = await many(5, () => other.read(who));
    expect(new Set(windows.map((window) => window?.count))).toEqual(new Set([3]));
    expect((await one.count(who, 60)).count).toBe(4);
  });

  it('opens a window anew: from 1, for its whole time', async () => {
    const { one, other } = made;
    const who = subject();
    await many(3, () => one.count(who, 10));
    await sleep(1_100);
    await many(2, () => other.reopen(who, 10));
    const window = await one.read(who);
    expect(window?.count).toBe(1);
    expect(window?.msLeft).toBeGreaterThan(9_000);
    expect((await one.count(who, 10)).count).toBe(2);
  });

  it.each(['address:2001:db8:1:2::/64', "address:'; drop table rate_windows; --", 'credential:ä😀'])(
    'takes any subject as text: %s',
    async (text) => {
      const who = `${text} ${randomId()}`;
      expect((await made.one.count(who, 60)).count).toBe(1);
      expect((await made.other.read(who))?.count).toBe(1);
    },
  );
};
