import { describe, expect, it } from '@jest/globals';
import { abortable, unlessAborted } from '../../shared/async/abortable.ts';
import { settled, timeout, TimeoutError } from '../../shared/async/timeout.ts';
import { createWakeUp } from '../../shared/async/wake-up.ts';

const never = new Promise<never>(() => undefined);
const failing = (): Promise<never> => Promise.reject(new Error('failed'));

describe('timeout', () => {
  it('returns the result or error of the work, or an error after the time limit', async () => {
    expect(await timeout(1_000, Promise.resolve(7))).toBe(7);
    await expect(timeout(1_000, failing())).rejects.toThrow('failed');
    await expect(timeout(5, never)).rejects.toThrow(TimeoutError);
    await expect(timeout(5, never, () => new Error('late'))).rejects.toThrow('late');
  });

  it('ignores a later failure', async () => {
    let fail: (error: Error) => void = () => undefined;
    const work = new Promise<void>((_, reject) => (fail = reject));
    await expect(timeout(5, work)).rejects.toThrow('no answer within 5 ms');
    fail(new Error('unheard'));
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('settled waits for success or failure, but not longer than the time limit', async () => {
    expect(await settled(1_000, failing())).toBeUndefined();
    expect(await settled(5, never)).toBeUndefined();
  });
});

describe('abortable', () => {
  it('ends with the signal, even if it was already aborted', async () => {
    const ending = new AbortController();
    const waiting = abortable(never, ending.signal, () => new Error('given up'));
    const ignored = unlessAborted(never, ending.signal);
    ending.abort(new Error('over'));
    await expect(waiting).rejects.toThrow('given up');
    expect(await ignored).toBeUndefined();
    await expect(abortable(never, ending.signal)).rejects.toThrow('over');
  });

  it('returns the result of the work, and leaves no listener', async () => {
    const { signal } = new AbortController();
    expect(await abortable(Promise.resolve(7), signal)).toBe(7);
    await expect(unlessAborted(failing(), signal)).rejects.toThrow('failed');
  });
});

describe('a wake-up', () => {
  it('wakes all current waiters, and no later ones', async () => {
    const change = createWakeUp();
    const both = [change.next({}), change.next({ timeoutMs: 1_000 })];
    change.wake();
    expect(await Promise.all(both)).toEqual([true, true]);
    expect(await change.next({ timeoutMs: 5 })).toBe(false);
  });

  it('ends on abort, even if already aborted', async () => {
    const change = createWakeUp();
    const ending = new AbortController();
    const waiting = change.next({ signal: ending.signal });
    ending.abort();
    expect(await waiting).toBe(false);
    expect(await change.next({ signal: ending.signal })).toBe(false);
  });
});
