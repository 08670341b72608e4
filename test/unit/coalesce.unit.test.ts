import { describe, expect, it } from '@jest/globals';
import { coalesce } from '../../shared/async/coalesce.ts';

/** Multiplies by 10, in batches that end when the test calls their function in `open`. */
const openBatches = (options: Parameters<typeof coalesce>[1]) => {
  const batches: (readonly number[])[] = [];
  const open: (() => void)[] = [];
  const ask = coalesce<number, number>(async (keys) => {
    batches.push(keys);
    await new Promise<void>((resolve) => open.push(resolve));
    return keys.map((key) => key * 10);
  }, options);
  return { batches, open, ask };
};

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('coalescing questions', () => {
  it('asks an idle store immediately, and asks the questions that arrive meanwhile together', async () => {
    const { batches, open, ask } = openBatches({ batchMax: 3, inFlightMax: 1 });
    const first = ask(1);
    await tick();
    const rest = [ask(2), ask(3), ask(4), ask(5)];
    await tick();
    expect(batches).toEqual([[1]]);
    open.shift()?.();
    expect(await first).toBe(10);
    await tick();
    expect(batches).toEqual([[1], [2, 3, 4]]);
    open.shift()?.();
    while (batches.length < 3) await tick();
    open.shift()?.();
    expect(await Promise.all(rest)).toEqual([20, 30, 40, 50]);
  });

  it('adds a question that arrives in the same event-loop iteration as an answer to the next round trip, in order', async () => {
    const { batches, open, ask } = openBatches({ batchMax: 10, inFlightMax: 1 });
    const first = ask(1);
    while (batches.length < 1) await tick();
    const before = ask(2);
    open.shift()?.();
    await first;
    const after = ask(3);
    while (batches.length < 2) await tick();
    open.shift()?.();
    expect(await Promise.all([before, after])).toEqual([20, 30]);
    expect(batches).toEqual([[1], [2, 3]]);
  });

  it('with `waitMsMax`, waits for the current round trip, but not if it hangs', async () => {
    const { batches, open, ask } = openBatches({ batchMax: 3, inFlightMax: 2, waitMsMax: 100 });
    const hanging = ask(1);
    await tick();
    const rest = [ask(2), ask(3)];
    await tick();
    expect(batches).toEqual([[1]]);
    while (batches.length < 2) await tick();
    expect(batches).toEqual([[1], [2, 3]]);
    open[1]?.();
    expect(await Promise.all(rest)).toEqual([20, 30]);
    open[0]?.();
    expect(await hanging).toBe(10);
  });

  it('fails every question of a failed round trip, and answers later ones', async () => {
    let failing = true;
    const ask = coalesce<number, number>(
      async (keys) => {
        if (failing) throw new Error('unavailable');
        return keys;
      },
      { batchMax: 10, inFlightMax: 1 },
    );
    await expect(Promise.all([ask(1), ask(2)])).rejects.toThrow('unavailable');
    failing = false;
    expect(await ask(3)).toBe(3);
  });
});
