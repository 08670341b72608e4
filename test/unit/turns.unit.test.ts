import { describe, expect, it } from '@jest/globals';
import { sleep } from '../../src/shared/backoff.ts';
import { createTurns } from '../../src/shared/command/turns.ts';
import { EventStoreUnavailableError } from '../../src/shared/event-store/event-store.ts';

const never = (): Promise<never> => new Promise(() => undefined);

describe('turns', () => {
  it('are taken one after the other, in the order of asking', async () => {
    const take = createTurns({ waitMsMax: 1_000, waitingMax: 100 });
    const log: string[] = [];
    await Promise.all(
      [1, 2, 3, 4].map((n) =>
        take('a', async () => {
          log.push(`begin ${n}`);
          await sleep(5 - n);
          log.push(`end ${n}`);
        }),
      ),
    );
    expect(log).toEqual([1, 2, 3, 4].flatMap((n) => [`begin ${n}`, `end ${n}`]));
  });

  it('of another name do not wait', async () => {
    const take = createTurns({ waitMsMax: 1_000, waitingMax: 100 });
    void take('a', never);
    expect(await take('b', async () => 7)).toBe(7);
  });

  it('go on behind work that fails', async () => {
    const take = createTurns({ waitMsMax: 1_000, waitingMax: 100 });
    const failing = take('a', () => Promise.reject(new Error('failed')));
    const behind = take('a', async () => 'done');
    await expect(failing).rejects.toThrow('failed');
    expect(await behind).toBe('done');
    expect(await take('a', async () => 'again')).toBe('again');
  });

  it('are given up after a while: the work never runs, and who is behind is next', async () => {
    const take = createTurns({ waitMsMax: 30, waitingMax: 100 });
    let free = (): void => undefined;
    const holding = take('a', () => new Promise<void>((resolve) => (free = resolve)));
    let ran = false;
    const late = take('a', async () => {
      ran = true;
    });
    await expect(late).rejects.toThrow(EventStoreUnavailableError);
    const next = take('a', async () => 'next');
    free();
    await holding;
    expect([await next, ran]).toEqual(['next', false]);
  });

  it('are refused at once when too many wait', async () => {
    const take = createTurns({ waitMsMax: 30, waitingMax: 1 });
    void take('a', never);
    const waiting = take('a', never);
    await expect(take('a', never)).rejects.toThrow(EventStoreUnavailableError);
    await expect(waiting).rejects.toThrow(EventStoreUnavailableError);
  });
});
