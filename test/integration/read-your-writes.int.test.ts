import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { freshnessColumns, freshnessSql, type Freshness } from '../../shared/follow-log/written-position.ts';
import {
  consistentRead,
  ReadModelBehindError,
  type ConsistentRead,
} from '../../shared/follow-log/consistent-read.ts';
import {
  createProjectionProgress,
  type ProjectionProgress,
} from '../../shared/follow-log/projection-progress.ts';
import { createProjectionFixture, type ProjectionFixture } from '../support/projection-fixture.ts';
import { createToy, toyEvent, toyStream } from '../support/toy-projection.ts';

let fixture: ProjectionFixture;
let reads = 0;
beforeAll(async () => {
  fixture = await createProjectionFixture();
});
beforeEach(async () => {
  reads = 0;
  await fixture.open();
});
afterEach(() => fixture.close());
afterAll(() => fixture.drop());

/** For tests that must not reach the time limit, even on a busy machine. */
const PATIENT_MS = 30_000;

const sumOf = async (
  customerId: number,
  options: { progress?: ProjectionProgress; waitMs?: number } = {},
): Promise<number> => {
  const pool: ConsistentRead['pool'] = {
    query: ((query: { text: string }) => {
      reads += 1;
      return fixture.pool.query(query);
    }) as Pool['query'],
  };
  const row = await consistentRead<Freshness & { sum: number | null }>({
    pool,
    projection: 'toy',
    query: {
      name: 'toy-sum',
      text: `select ${freshnessColumns('f')}, (select sum::float8 from toy_rows where stream = $3) as sum
             from ${freshnessSql('$1', '$2')} f`,
      values: [customerId, 'toy', toyStream(customerId, 1)],
    },
    waitMs: PATIENT_MS,
    ...options,
  });
  return row.sum ?? 0;
};

/** Each account alternates writes and reads. @returns the number of stale reads, and the waiting times */
const pairs = async (accounts: number, rounds: number, progress?: ProjectionProgress) => {
  let stale = 0;
  const waitsMs: number[] = [];
  const account = async (customerId: number): Promise<void> => {
    for (let round = 1; round <= rounds; round += 1) {
      await fixture.store.append(toyStream(customerId, 1), [toyEvent(customerId)], 'any');
      const start = performance.now();
      if ((await sumOf(customerId, progress && { progress })) !== round) stale += 1;
      waitsMs.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: accounts }, (_, n) => account(n + 1)));
  waitsMs.sort((a, b) => a - b);
  const at = (part: number): string => (waitsMs[Math.floor((waitsMs.length - 1) * part)] ?? 0).toFixed(1);
  return { stale, waits: `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms` };
};

it.each([
  ['with the projector in this process', true, 0, 50, 20],
  ['with the projector elsewhere', false, 0, 50, 20],
  ['one at a time, with the projector in this process', true, 0, 1, 100],
  ['one at a time, with the projector elsewhere', false, 0, 1, 100],
  ['with a projector 100 ms late', true, 100, 100, 10],
  ['with a projector 500 ms late', false, 500, 100, 4],
])('no read after a write returns a stale value %s', async (name, isLocal, delayMs, accounts, rounds) => {
  const toy = createToy();
  toy.before = () => new Promise((resolve) => setTimeout(resolve, delayMs));
  const progress = createProjectionProgress();
  fixture.engine({ projections: [toy], ...(isLocal && { progress }) });
  const { stale, waits } = await pairs(accounts, rounds, isLocal ? progress : undefined);
  expect(stale).toBe(0);
  console.log(`read your writes ${name}: ${accounts * rounds} pairs, 0 stale, ${waits}, ${reads} queries`);
});

it('costs one round trip if the read model is up to date, and for an account that never wrote', async () => {
  fixture.engine({ projections: [createToy()] });
  await fixture.store.append(toyStream(1, 1), [toyEvent(1)], 'any');
  await fixture.caughtUp();
  expect(await sumOf(1)).toBe(1);
  expect(await sumOf(2)).toBe(0);
  expect(reads).toBe(2);
});

it('waits for events of any category, but not of other accounts', async () => {
  await fixture.store.append('other-1-1', [toyEvent(1)], 'any');
  await expect(sumOf(1, { waitMs: 50 })).rejects.toThrow(ReadModelBehindError);
  expect(await sumOf(2, { waitMs: 50 })).toBe(0);
  fixture.engine({ projections: [createToy()] });
  expect(await sumOf(1)).toBe(0);
});

it('fails after the time limit, without holding a connection meanwhile', async () => {
  await fixture.store.append(toyStream(1, 1), [toyEvent(1)], 'any');
  const start = performance.now();
  const waiting = Array.from({ length: 50 }, () => sumOf(1, { waitMs: 300 }));
  const outcomes = await Promise.allSettled(waiting);
  const ms = performance.now() - start;
  expect(
    outcomes.every((one) => one.status === 'rejected' && one.reason instanceof ReadModelBehindError),
  ).toBe(true);
  expect(ms).toBeGreaterThan(295);
  // The default limit is 2 s.
  expect(ms).toBeLessThan(1_900);
  expect(fixture.pool.waitingCount).toBe(0);
});
