import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { listParked } from '../../projections/engine/parked-streams.ts';
import { retryAllParked, retryParked } from '../../projections/engine/retry-parked.ts';
import { createProjectionFixture, type ProjectionFixture } from '../support/projection-fixture.ts';
import { appendToys, createToy, toyEvent, toyStream } from '../support/toy-projection.ts';
import { until } from '../support/until.ts';

let fixture: ProjectionFixture;
beforeAll(async () => {
  fixture = await createProjectionFixture();
});
beforeEach(() => fixture.open());
afterEach(() => fixture.close());
afterAll(() => fixture.drop());

const appendBad = (n: number, bad = 'unknown') =>
  fixture.store.append(toyStream(1, n), [toyEvent(1, { n: 1, bad })], 'any');

const epoch = async (): Promise<number> =>
  (await fixture.pool.query<{ epoch: number }>('select epoch from projection_checkpoints')).rows[0]?.epoch ??
  -1;

it('lists parked streams page by page', async () => {
  const toy = createToy();
  fixture.engine({ projections: [toy] });
  await appendToys(fixture.store, { streams: 7 });
  for (let n = 0; n < 7; n += 1) await appendBad(n, 'constraint');
  await fixture.caughtUp();
  const first = await listParked(fixture.pool, { projection: 'toy', limit: 5 });
  const second = await listParked(fixture.pool, {
    projection: 'toy',
    limit: 5,
    ...(first[4] && { after: first[4] }),
  });
  expect(first.map(({ stream }) => stream)).toEqual([0, 1, 2, 3, 4].map((n) => toyStream(1, n)));
  expect(second.map(({ stream }) => stream)).toEqual([5, 6].map((n) => toyStream(1, n)));
  expect(first[0]).toMatchObject({
    projection: 'toy',
    customerId: 1,
    position: '0000000000000008',
    revision: 1,
    eventType: 'Bad',
    attempts: 3,
  });
  expect(first[0]?.error).toMatch(/check constraint/);
});

it('keeps a failing stream parked, and applies it in order once it succeeds', async () => {
  const toy = createToy();
  const { status } = fixture.engine({ projections: [toy] });
  await appendBad(1);
  await fixture.store.append(toyStream(1, 1), [toyEvent(1, { n: 10 }), toyEvent(1, { n: 100 })], 'any');
  await fixture.caughtUp();
  const retry = () => retryParked(fixture.pool, fixture.store, toy, toyStream(1, 1));
  expect(await retry()).toMatchObject({ outcome: 'parked', stream: { attempts: 4, revision: 0 } });
  expect(await fixture.totals()).toMatchObject({ events: 0, parked: 1 });
  toy.fixed = true;
  expect(await retry()).toEqual({ outcome: 'applied', events: 3 });
  expect(await retry()).toEqual({ outcome: 'not-parked' });
  expect(await fixture.totals()).toMatchObject({ sum: 111, events: 3, effects: 3, parked: 0 });
  expect(await epoch()).toBe(2);
  // The live runner continues the stream after the retry.
  await fixture.store.append(toyStream(1, 1), [toyEvent(1, { n: 1_000 })], 'any');
  await fixture.caughtUp();
  expect(await fixture.totals()).toMatchObject({ sum: 1_111, effects: 4, parked: 0 });
  await until(async () => (await status())[0]?.epoch === 2);
});

it('loses no event when a batch of the stream waits for the retry to commit', async () => {
  const toy = createToy();
  fixture.engine({ projections: [toy] });
  await appendBad(1);
  await fixture.caughtUp();
  // The retry holds the checkpoint's row while the runner waits for it with the stream's next events.
  let isHeld = false;
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  toy.fixed = true;
  const slow = createToy();
  slow.fixed = true;
  slow.before = async () => {
    isHeld = true;
    await held;
  };
  const retrying = retryParked(fixture.pool, fixture.store, slow, toyStream(1, 1));
  await until(async () => isHeld);
  await fixture.store.append(toyStream(1, 1), [toyEvent(1), toyEvent(1)], 'any');
  await until(async () => {
    const { rows } = await fixture.pool.query(
      `select 1 from pg_stat_activity
       where application_name = 'test-projector' and wait_event_type = 'Lock' and datname = current_database()`,
    );
    return rows.length === 1;
  });
  release();
  expect(await retrying).toEqual({ outcome: 'applied', events: 1 });
  await fixture.caughtUp();
  expect(await fixture.totals()).toEqual({ rows: 1, sum: 3, events: 3, effects: 3, parked: 0 });
});

it('un-parks repeatedly while a live runner is under load, with correct rows at the end', async () => {
  const toy = createToy();
  const fixed = createToy();
  fixed.fixed = true;
  fixture.engine({ projections: [toy] });
  let writing = true;
  let written = 0;
  const load = (async () => {
    while (writing) written += await appendToys(fixture.store, { streams: 30 });
  })();
  let applied = 0;
  for (let round = 0; round < 25; round += 1) {
    for (const n of [1, 2, 3]) await appendBad((round + n) % 30);
    await until(async () => (await fixture.totals()).parked > 0);
    applied += (await retryAllParked(fixture.pool, fixture.store, fixed)).applied;
  }
  writing = false;
  await load;
  await fixture.caughtUp();
  applied += (await retryAllParked(fixture.pool, fixture.store, fixed)).applied;
  const events = written + 75;
  expect(await fixture.totals()).toEqual({ rows: 30, sum: events, events, effects: events, parked: 0 });
  console.log(`un-parked ${applied} times while a live runner applied ${events} events`);
});
