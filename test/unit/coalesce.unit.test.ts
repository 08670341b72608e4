import { describe, expect, it } from '@jest/globals';
import { coalesce } from '../../src/shared/coalesce.ts';

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('coalescing questions', () => {
  it('asks an idle store at once, and what arrives meanwhile together', async () => {
    const batches: (readonly number[])[] = [];
    const open: (() => void)[] = [];
    const ask = coalesce<number, number>(
      async (keys) => {
        batches.push(keys);
        await new Promise<void>((resolve) => open.push(resolve));
        return keys.map((key) => key * 10);
      },
      { batchMax: 3, inFlightMax: 1 },
    );
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
    await tick();
    open.shift()?.();
    expect(await Promise.all(rest)).toEqual([20, 30, 40, 50]);
  });

  it('fails every question of a failed round trip, and goes on', async () => {
    let failing = true;
    const ask = coalesce<number, number>(
      async (keys) => {
        if (failing) throw new Error('away');
        return keys;
      },
      { batchMax: 10, inFlightMax: 1 },
    );
    await expect(Promise.all([ask(1), ask(2)])).rejects.toThrow('away');
    failing = false;
    expect(await ask(3)).toBe(3);
  });
});
