import { fork, type ChildProcess } from 'node:child_process';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { CheckpointMovedError, openCheckpoint } from '../../projections/engine/checkpoint.ts';
import { createCheckpointMover } from '../../projections/engine/move-checkpoints.ts';
import { createProjectionRunner } from '../../projections/engine/projection-runner.ts';
import type { EventBatch, EventStore } from '../../shared/event-store/event-store.ts';
import { printPosition } from '../../shared/event-store/dense-position.ts';
import { createProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import { createProjectionFixture, type ProjectionFixture } from '../support/projection-fixture.ts';
import {
  appendToys,
  createToy,
  projectorPool,
  silent,
  toyEvent,
  toyStream,
} from '../support/toy-projection.ts';
import { until } from '../support/until.ts';
import { testProgram } from '../support/bundles.ts';

let fixture: ProjectionFixture;
beforeAll(async () => {
  fixture = await createProjectionFixture();
});
beforeEach(() => fixture.open());
afterEach(() => fixture.close());
afterAll(() => fixture.drop());

/** Reads snapshots until `stop`: the number of applied events and the checkpoint, in one statement. */
const watchSnapshots = () => {
  let watching = true;
  const torn: unknown[] = [];
  let snapshots = 0;
  const done = (async () => {
    while (watching) {
      const { rows } = await fixture.pool.query<{ effects: number; position: number }>(
        `select (select events::int from toy_effects) as effects,
           coalesce((select nullif(position, '-')::int from projection_checkpoints where name = 'toy'), 0) as position`,
      );
      snapshots += 1;
      if (rows[0]?.effects !== rows[0]?.position) torn.push(rows[0]);
    }
  })();
  return async () => {
    watching = false;
    await done;
    return { torn, snapshots };
  };
};

const terminate = async (applicationName: string): Promise<number> =>
  (
    await fixture.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = $1 and datname = current_database()`,
      [applicationName],
    )
  ).rowCount ?? 0;

/** The log in smaller batches than a projector requests. */
const inBatchesOf = (batchSize: number): EventStore => ({
  ...fixture.store,
  subscribeToAll: (options) => fixture.store.subscribeToAll({ ...options, batchSize }),
});

describe('exactly once', () => {
  it('commits rows and checkpoint together, as any snapshot shows', async () => {
    const stopWatching = watchSnapshots();
    fixture.engine({ projections: [createToy()] });
    const events = await appendToys(fixture.store, { streams: 300, rounds: 20 });
    await fixture.caughtUp();
    const { torn, snapshots } = await stopWatching();
    expect(torn).toEqual([]);
    expect(await fixture.totals()).toEqual({ rows: 300, sum: events, events, effects: events, parked: 0 });
    console.log(`atomic: ${snapshots} snapshots during ${events} events, 0 torn`);
  });

  it('changes nothing when every batch and event is delivered three times, and old batches again', async () => {
    const tripled: EventStore = {
      ...fixture.store,
      async *subscribeToAll(options) {
        let last: EventBatch | undefined;
        for await (const batch of fixture.store.subscribeToAll({ ...options, batchSize: 50 })) {
          const events = batch.events.flatMap((event) => [event, event, event]);
          const three = { ...batch, events };
          yield three;
          if (last !== undefined) yield last;
          yield* [three, three];
          last = three;
        }
      },
    };
    const events = await appendToys(fixture.store, { streams: 100, rounds: 10 });
    fixture.engine({ projections: [createToy()], store: tripled });
    await fixture.caughtUp();
    expect(await fixture.totals()).toMatchObject({ rows: 100, sum: events, events, effects: 3 * events });
  });

  it('survives connections lost before and after the commit', async () => {
    const commits = { before: 0, after: 0 };
    const pool = projectorPool(fixture.url);
    cutCommits(pool, (when) => {
      commits[when] += 1;
      return commits[when] % 7 === (when === 'before' ? 2 : 5);
    });
    const stopWatching = watchSnapshots();
    fixture.engine({ projections: [createToy()], pool, store: inBatchesOf(50) });
    const events = await appendToys(fixture.store, { streams: 20, rounds: 150 });
    await fixture.caughtUp('toy', 20_000);
    expect((await stopWatching()).torn).toEqual([]);
    expect(await fixture.totals()).toEqual({ rows: 20, sum: events, events, effects: events, parked: 0 });
    const cuts = Math.floor(commits.after / 7);
    expect(cuts).toBeGreaterThan(3);
    console.log(`cut: at least ${cuts} each before and after commit, ${events} events applied once`);
  });

  it('stays correct when two runners run the same read model', async () => {
    const pool = projectorPool(fixture.url);
    const ending = new AbortController();
    const runners = [0, 1].map(() =>
      createProjectionRunner({
        projection: createToy(),
        store: fixture.store,
        pool,
        log: silent,
        onCommit: () => undefined,
      }).run(ending.signal),
    );
    const events = await appendToys(fixture.store, { streams: 50, rounds: 60 });
    await fixture.caughtUp();
    ending.abort();
    await Promise.all(runners);
    await pool.end();
    expect(await fixture.totals()).toEqual({ rows: 50, sum: events, events, effects: events, parked: 0 });
  });
});

/** Breaks connections of `pool` if `cut` returns true: before a `commit` is sent, or after it succeeded. */
const cutCommits = (pool: Pool, cut: (when: 'before' | 'after') => boolean): void => {
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...values: unknown[]) => Promise<unknown>;
    const breakDown = (): never => {
      (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
      throw new Error('Connection terminated unexpectedly');
    };
    const patched = async (...values: unknown[]): Promise<unknown> => {
      if (values[0] !== 'commit') return query(...values);
      if (cut('before')) return breakDown();
      await query(...values);
      return cut('after') ? breakDown() : undefined;
    };
    Object.assign(client, {
      // `pool.query` passes a callback; those statements are not changed.
      query: (...values: unknown[]) => (values[0] === 'commit' ? patched(...values) : query(...values)),
    });
  });
};

describe('progress', () => {
  it('advances past events of other categories immediately', async () => {
    fixture.engine({ projections: [createToy()] });
    await appendToys(fixture.store, { streams: 1 });
    await fixture.caughtUp();
    const waits: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      await fixture.store.append(`other-1-${n}`, [toyEvent(1)], 'no-stream');
      waits.push(await fixture.caughtUp());
    }
    waits.sort((a, b) => a - b);
    console.log(`idle advance: median ${waits[10]?.toFixed(1)} ms, max ${waits[19]?.toFixed(1)} ms`);
    expect(waits[10]).toBeLessThan(1_000);
    expect((await fixture.totals()).effects).toBe(1);
  });

  it('notifies readers after every commit, and workers on rows only after commits with events', async () => {
    const [progress, changes] = [createProjectionProgress(), createProjectionProgress()];
    fixture.engine({ projections: [createToy()], progress, changes });
    await appendToys(fixture.store, { streams: 1 });
    await until(async () => changes.version('toy') === 1);
    const seen = progress.version('toy');
    expect(seen).toBeGreaterThan(0);
    await fixture.store.append('other-1-1', [toyEvent(1)], 'no-stream');
    await until(async () => progress.version('toy') > seen);
    expect(changes.version('toy')).toBe(1);
  });

  it('stops at a log that ends before the checkpoint, reports it, and continues when it no longer does', async () => {
    const { readiness, status } = fixture.engine({ projections: [createToy()] });
    await appendToys(fixture.store, { streams: 3 });
    await fixture.caughtUp();
    await fixture.pool.query(
      `update projection_checkpoints set position = lpad('103', 16, '0'), epoch = epoch + 1 where name = 'toy'`,
    );
    // The conditional checkpoint update detects the move, with the next batch.
    await appendToys(fixture.store, { streams: 1 });
    await until(async () => (await status())[0]?.state === 'log-gap');
    const { ready, projections } = await readiness();
    expect(ready).toBe(false);
    expect(projections[0]).toMatchObject({ position: '0000000000000103', lagEvents: -99 });
    expect(projections[0]?.error).toMatch(/ahead of the log/);
    expect((await fixture.totals()).effects).toBe(3);
    await fixture.pool.query(
      `update projection_checkpoints set position = lpad('3', 16, '0') where name = 'toy'`,
    );
    await until(async () => (await readiness()).ready);
    expect((await fixture.totals()).effects).toBe(4);
  });

  it('applies in parts a batch that exceeds the statement timeout', async () => {
    const toy = createToy();
    const apply = toy.apply.bind(toy);
    const slow = {
      ...toy,
      apply: async (...[client, events]: Parameters<typeof apply>) => {
        await client.query(`select pg_sleep($1)`, [events.length * 0.004]);
        await apply(client, events);
      },
    };
    const pool = projectorPool(fixture.url);
    pool.options['statement_timeout'] = 400;
    await appendToys(fixture.store, { streams: 500 });
    fixture.engine({ projections: [slow], pool });
    await fixture.caughtUp('toy', 20_000);
    expect(await fixture.totals()).toMatchObject({ effects: 500, parked: 0 });
  });

  it('reports its state in metrics and status', async () => {
    const { registry, status, readiness } = fixture.engine({ projections: [createToy()] });
    await appendToys(fixture.store, { streams: 5 });
    await fixture.caughtUp();
    await until(async () => (await status())[0]?.lagEvents === 0);
    const metrics = await registry.metrics();
    expect(metrics).toContain('exchange_projection_lag_events{projection="toy"} 0');
    expect(metrics).toContain('exchange_projection_parked_streams{projection="toy"} 0');
    expect(metrics).toContain('exchange_projection_events_applied_total{projection="toy"} 5');
    expect(await status()).toEqual([
      {
        name: 'toy',
        leading: true,
        led: true,
        position: '0000000000000005',
        epoch: 0,
        lagEvents: 0,
        parkedStreams: 0,
        state: 'live',
      },
    ]);
    expect(await readiness()).toMatchObject({ ready: true, degraded: false, parked: [] });
  });
});

describe('temporary failures', () => {
  it('never parks because of lost connections, for any number of them', async () => {
    fixture.engine({ projections: [createToy()] });
    let killed = 0;
    let flowing = true;
    const killing = (async () => {
      while (flowing || killed === 0) {
        killed += await terminate('test-projector');
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
    })();
    const events = await appendToys(fixture.store, { streams: 50, rounds: 100 });
    flowing = false;
    await killing;
    const lagMs = await fixture.caughtUp();
    expect(await fixture.totals()).toEqual({ rows: 50, sum: events, events, effects: events, parked: 0 });
    expect(killed).toBeGreaterThan(0);
    console.log(
      `terminated ${killed} connections during ${events} events; caught up ${lagMs.toFixed(0)} ms after`,
    );
  });

  it('waits for a missing table, and is not ready meanwhile', async () => {
    await fixture.pool.query('alter table toy_rows rename to toy_rows_away');
    try {
      const { status, readiness } = fixture.engine({ projections: [createToy()] });
      await appendToys(fixture.store, { streams: 20 });
      await until(async () => (await status())[0]?.state === 'retrying');
      expect((await readiness()).ready).toBe(false);
    } finally {
      await fixture.pool.query('alter table toy_rows_away rename to toy_rows');
    }
    await fixture.caughtUp();
    expect(await fixture.totals()).toMatchObject({ effects: 20, parked: 0 });
  });
});

/** In ms. The promise is 5 s and the maximum is 3.8 s; the rest allows for a busy machine. */
const TAKE_OVER_MS_MAX = 10_000;

describe('leadership', () => {
  const leaders = async (engines: readonly { status(): Promise<readonly { leading: boolean }[]> }[]) =>
    (await Promise.all(engines.map((one) => one.status()))).map(([status]) => status?.leading ?? false);

  it('is held by one of two, and fails over when its connection breaks', async () => {
    const engines = [0, 1].map(() => fixture.engine({ projections: [createToy()] }));
    const writing = appendToys(fixture.store, { streams: 50, rounds: 60 });
    let holder: number | undefined;
    const isTaken = async (): Promise<boolean> => {
      const { rows } = await fixture.pool.query<{ pid: number }>(
        `select pid from pg_locks l join pg_database d on d.oid = l.database and d.datname = current_database()
         where locktype = 'advisory' and classid = 7216004`,
      );
      const before = holder;
      holder = rows[0]?.pid ?? before;
      return rows.length === 1 && holder !== before;
    };
    await until(isTaken);
    const waits: number[] = [];
    for (let time = 0; time < 4; time += 1) {
      expect(await terminate('exchange-projector')).toBeGreaterThan(0);
      waits.push(await until(isTaken));
    }
    await until(async () => (await leaders(engines)).filter(Boolean).length === 1);
    console.log(`take-over after a broken connection: ${waits.map((ms) => ms.toFixed(0)).join(', ')} ms`);
    const events = (await writing) + (await appendToys(fixture.store, { streams: 50 }));
    await fixture.caughtUp();
    expect(await fixture.totals()).toEqual({ rows: 50, sum: events, events, effects: events, parked: 0 });
  });

  it('passes on immediately when the leader stops, and leaves no connection', async () => {
    const first = fixture.engine({ projections: [createToy()] });
    await until(async () => (await first.status())[0]?.leading === true);
    const second = fixture.engine({ projections: [createToy()] });
    await first.stop();
    const ms = await until(async () => (await second.status())[0]?.leading === true);
    expect(ms).toBeLessThan(10_000);
    await second.stop();
    const { rows } = await fixture.pool.query(
      `select 1 from pg_stat_activity
       where application_name = 'exchange-projector' and datname = current_database()`,
    );
    expect(rows).toEqual([]);
  });

  let child: ChildProcess | undefined;
  afterEach(() => {
    child?.kill('SIGKILL');
  });

  const startChild = async (): Promise<ChildProcess> => {
    const started = fork(testProgram('support/projector-process.js'), [fixture.url]);
    child = started;
    let leading = false;
    started.on('message', (message: { leading: boolean }) => {
      ({ leading } = message);
    });
    await until(async () => leading);
    return started;
  };

  it.each([
    ['killed', 'SIGKILL'],
    ['frozen', 'SIGSTOP'],
  ] as const)(
    'is taken over within 5 s from a process that is %s, and nothing is applied twice',
    async (_, signal) => {
      const leader = await startChild();
      const standby = fixture.engine({ projections: [createToy()] });
      let events = await appendToys(fixture.store, { streams: 50, rounds: 10 });
      const writing = appendToys(fixture.store, { streams: 50, rounds: 30 });
      leader.kill(signal);
      const ms = await until(async () => (await standby.status())[0]?.leading === true, 60_000);
      events += await writing;
      await fixture.caughtUp();
      leader.kill('SIGCONT');
      events += await appendToys(fixture.store, { streams: 50, rounds: 10 });
      await fixture.caughtUp();
      expect(await fixture.totals()).toEqual({ rows: 50, sum: events, events, effects: events, parked: 0 });
      expect(ms).toBeLessThan(TAKE_OVER_MS_MAX);
      console.log(`take-over from a leader after ${signal}: ${ms.toFixed(0)} ms`);
    },
  );
});

describe('poison', () => {
  it('parks the one bad stream of 10,000 events; everything else is projected', async () => {
    const appended = await appendToys(fixture.store, { streams: 1_000, rounds: 5 });
    const bad = await fixture.store.append(toyStream(1, 500), [toyEvent(1, { n: 1, bad: 'unknown' })], 'any');
    const rest = await appendToys(fixture.store, { streams: 1_000, rounds: 5 });
    const other = { ...createToy('other'), apply: async () => undefined };
    const { readiness } = fixture.engine({ projections: [createToy(), other] });
    const ms = await fixture.caughtUp('toy');
    await fixture.caughtUp('other');
    expect(await fixture.totals()).toEqual({
      rows: 1_000,
      sum: appended + rest - 5,
      events: appended + rest - 5,
      effects: appended + rest - 5,
      parked: 1,
    });
    await until(async () => (await readiness()).degraded);
    const { ready, parked, projections } = await readiness();
    expect(ready).toBe(true);
    expect(parked).toEqual([
      {
        projection: 'toy',
        stream: toyStream(1, 500),
        position: bad.position,
        revision: 5,
        eventType: 'Bad',
        attempts: 3,
      },
    ]);
    expect(projections.map(({ lagEvents, parkedStreams }) => [lagEvents, parkedStreams])).toEqual([
      [0, 1],
      [0, 0],
    ]);
    console.log(`one bad event among ${appended + rest + 1}: lag 0 after ${ms.toFixed(0)} ms`);
    await appendToys(fixture.store, { streams: 1_000 });
    await fixture.caughtUp('toy', 60_000);
  });

  it.each(['unknown', 'bug', 'constraint'])(
    'parks every stream of a batch that is bad by %s',
    async (bad) => {
      for (let n = 0; n < 40; n += 1) {
        const events = [toyEvent(1), toyEvent(1, n % 3 === 0 ? { n: 1, bad } : { n: 1 }), toyEvent(1)];
        await fixture.store.append(toyStream(1, n), events, 'no-stream');
      }
      fixture.engine({ projections: [createToy()] });
      await fixture.caughtUp();
      const applied = 40 * 3 - 14 * 2;
      expect(await fixture.totals()).toEqual({
        rows: 40,
        sum: applied,
        events: applied,
        effects: applied,
        parked: 14,
      });
    },
  );
});

describe('moving past ignored events', () => {
  it('moves each unchanged checkpoint, refuses changed ones, and waits separately for a locked one', async () => {
    const { pool } = fixture;
    const positions = async () =>
      (
        await pool.query<{ name: string; position: string }>(
          "select name, position from projection_checkpoints where name like 'together-%' order by name",
        )
      ).rows.map(({ name, position }) => [name, position]);
    const passOver = createCheckpointMover(pool);
    const to = printPosition(7);
    const names = ['together-a', 'together-b', 'together-c', 'together-d'] as const;
    const [a, b, c, d] = await Promise.all(names.map((name) => openCheckpoint(pool, name)));
    if (!a || !b || !c || !d) throw new Error('no checkpoints');
    const holder = await pool.connect();
    await holder.query("begin; select from projection_checkpoints where name = 'together-b' for update");
    const held = passOver(names[1], b, to);
    const others = await Promise.allSettled([
      passOver(names[0], a, to),
      passOver(names[2], { ...c, position: printPosition(3) }, to),
      passOver(names[3], { ...d, epoch: 9 }, to),
    ]);
    expect(others.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    const reasons = others.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    expect(reasons.every((reason) => reason instanceof CheckpointMovedError)).toBe(true);
    await holder.query('commit');
    holder.release();
    await held;
    expect(await positions()).toEqual([
      [names[0], to],
      [names[1], to],
      [names[2], c.position],
      [names[3], d.position],
    ]);
    await pool.query("delete from projection_checkpoints where name like 'together-%'");
  });
});
