import { describe, expect, it } from '@jest/globals';
import { sleep } from '../../shared/async/backoff.ts';
import { createLimit, createOneAtATime } from '../../shared/async/limit.ts';

const tooBusy = (): Error => new Error('busy');
const never = (): Promise<never> => new Promise(() => undefined);

describe('one at a time', () => {
  it('runs the calls of a key one after the other, in order', async () => {
    const runAlone = createOneAtATime({ waitMsMax: 1_000, waitingMax: 100, tooBusy });
    const log: string[] = [];
    await Promise.all(
      [1, 2, 3, 4].map((n) =>
        runAlone('a', async () => {
          log.push(`begin ${n}`);
          await sleep(5 - n);
          log.push(`end ${n}`);
        }),
      ),
    );
    expect(log).toEqual([1, 2, 3, 4].flatMap((n) => [`begin ${n}`, `end ${n}`]));
  });

  it('does not delay other keys', async () => {
    const runAlone = createOneAtATime({ waitMsMax: 1_000, waitingMax: 100, tooBusy });
    void runAlone('a', never);
    expect(await runAlone('b', async () => 7)).toBe(7);
  });

  it('continues after a failed call', async () => {
    const runAlone = createOneAtATime({ waitMsMax: 1_000, waitingMax: 100, tooBusy });
    const failing = runAlone('a', () => Promise.reject(new Error('failed')));
    const next = runAlone('a', async () => 'done');
    await expect(failing).rejects.toThrow('failed');
    expect(await next).toBe('done');
    expect(await runAlone('a', async () => 'again')).toBe('again');
  });

  it('refuses a call after its waiting time and never runs it; the next one runs', async () => {
    const runAlone = createOneAtATime({ waitMsMax: 30, waitingMax: 100, tooBusy });
    let free = (): void => undefined;
    const holding = runAlone('a', () => new Promise<void>((resolve) => (free = resolve)));
    let ran = false;
    const late = runAlone('a', async () => {
      ran = true;
    });
    await expect(late).rejects.toThrow('busy');
    const next = runAlone('a', async () => 'next');
    free();
    await holding;
    expect([await next, ran]).toEqual(['next', false]);
  });

  it('refuses immediately if too many wait', async () => {
    const runAlone = createOneAtATime({ waitMsMax: 30, waitingMax: 1, tooBusy });
    void runAlone('a', never);
    const waiting = runAlone('a', never);
    await expect(runAlone('a', never)).rejects.toThrow('busy');
    await expect(waiting).rejects.toThrow('busy');
  });
});

describe('a limit', () => {
  it('runs a limited number at once, and the others in order', async () => {
    const limit = createLimit({ atOnceMax: 2, waitingMax: 100, tooBusy });
    let [running, most] = [0, 0];
    const begun: number[] = [];
    await Promise.all(
      [1, 2, 3, 4, 5].map((n) =>
        limit(1_000, async () => {
          begun.push(n);
          most = Math.max(most, (running += 1));
          await sleep(2);
          running -= 1;
        }),
      ),
    );
    expect([most, begun]).toEqual([2, [1, 2, 3, 4, 5]]);
  });

  it('refuses and never runs a call that waits too long or finds the queue full', async () => {
    const limit = createLimit({ atOnceMax: 1, waitingMax: 1, tooBusy });
    let free = (): void => undefined;
    const holding = limit(0, () => new Promise<void>((resolve) => (free = resolve)));
    let ran = 0;
    const work = async (): Promise<number> => (ran += 1);
    const late = limit(10, work);
    await expect(limit(1_000, work)).rejects.toThrow('busy');
    await expect(late).rejects.toThrow('busy');
    free();
    await holding;
    expect([await limit(0, work), ran]).toEqual([1, 1]);
  });
});
