import { expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import {
  consistentRead,
  readUntilFresh,
  ReadModelBehindError,
  type ConsistentRead,
} from '../../shared/follow-log/consistent-read.ts';
import { createProjectionProgress } from '../../shared/follow-log/projection-progress.ts';

/** Answers with each of `rows` once, then repeats the last one. */
const poolOf = (...rows: readonly (object | undefined)[]) => {
  const asked: unknown[] = [];
  const query = (async (config: unknown) => {
    const row = rows[Math.min(asked.push(config), rows.length) - 1];
    return { rows: row === undefined ? [] : [row] };
  }) as unknown as Pool['query'];
  return { asked, pool: { query } satisfies ConsistentRead['pool'] };
};

const query = { name: 'q', text: 'select $1', values: [7] };
const old = { fresh: false, n: 1 };
const fresh = { fresh: true, n: 2 };

it('queries once if the row is fresh', async () => {
  const { pool, asked } = poolOf(fresh);
  expect(await consistentRead({ pool, projection: 'p', query })).toBe(fresh);
  expect(asked).toEqual([query]);
});

it('queries again until the row is fresh, and never returns a stale row', async () => {
  const { pool, asked } = poolOf(old, old, old, fresh);
  expect(await consistentRead({ pool, projection: 'p', query })).toBe(fresh);
  expect(asked).toHaveLength(4);
});

it('fails after its time limit', async () => {
  const { pool, asked } = poolOf(old);
  const start = performance.now();
  const read = consistentRead({ pool, projection: 'p', query, waitMs: 400 });
  await expect(read).rejects.toThrow(ReadModelBehindError);
  const ms = performance.now() - start;
  expect(ms).toBeGreaterThanOrEqual(399);
  expect(ms).toBeLessThan(2_000);
  // Waits of 2, 5, 10, 20, 25, 25 ... ms, each multiplied by a random factor from 0.5 to 1.
  expect(asked.length).toBeGreaterThan(4);
  expect(asked.length).toBeLessThan(40);
});

it('is woken by progress, also if it happens during the query', async () => {
  const progress = createProjectionProgress();
  let asked = 0;
  const pool = {
    query: (async () => {
      asked += 1;
      if (asked === 10) return { rows: [fresh] };
      progress.advanced('p');
      return { rows: [old] };
    }) as unknown as Pool['query'],
  };
  const start = performance.now();
  await consistentRead({ pool, projection: 'p', query, progress });
  expect(performance.now() - start).toBeLessThan(500);
});

it('waits for the progress of one read model only; progress before the wait also ends it', async () => {
  const progress = createProjectionProgress();
  const seen = progress.version('p');
  let isWoken = false;
  const waiting = progress.beyond('p', seen, 1_000).then(() => {
    isWoken = true;
  });
  progress.advanced('other');
  await new Promise((resolve) => setImmediate(resolve));
  expect(isWoken).toBe(false);
  progress.advanced('p');
  await waiting;
  await progress.beyond('p', seen, 1_000);
  const start = performance.now();
  await progress.beyond('p', progress.version('p'), 20);
  expect(performance.now() - start).toBeGreaterThanOrEqual(19);
});

it('rejects a query that returns no row', async () => {
  const { pool } = poolOf(undefined);
  await expect(consistentRead({ pool, projection: 'p', query })).rejects.toThrow('q must return one row');
});

it('waits only for writes before its first query', async () => {
  const states = [
    { fresh: false, written: '5', reached: '3' },
    { fresh: false, written: '7', reached: '4' },
    { fresh: false, written: '9', reached: '5' },
    { fresh: false, written: '9', reached: '8' },
  ].map((state) => ({ ...state, mark: '' }));
  let asked = 0;
  const row = await readUntilFresh(
    { projection: 'p' },
    async () => states[asked++] as (typeof states)[number],
  );
  expect(row).toMatchObject({ written: '9', reached: '5' });
  expect(asked).toBe(3);
});
