import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { UnprojectableEventError, type Projection } from '../../projections/engine/projection.ts';
import { resetReadModels } from '../../projections/engine/reset.ts';
import { retryAllParked } from '../../projections/engine/retry-parked.ts';
import { sleep } from '../../shared/async/backoff.ts';
import {
  comparePositions,
  START,
  type EventStore,
  type Position,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { SERVICE_CONNECTION } from '../../shared/postgres/running-services.ts';
import { openEventStoreDbStore } from '../contract/make-eventstoredb-store.ts';
import { openPostgresStore } from '../contract/make-postgres-store.ts';
import { startEventStoreService } from '../support/eventstoredb/event-store-service.ts';
import { createProjectionFixture, type ProjectionFixture } from '../support/projection-fixture.ts';
import { toyEvent } from '../support/toy-projection.ts';
import { until } from '../support/until.ts';
import { createRandom } from './kit/random.ts';

/**
 * Read models that follow one tail. Each inserts every event it receives without any guard, so a skipped, doubled or
 * misplaced event stays visible in its table.
 */

const SEED = Number(process.env['FAULT_SEED'] ?? Math.floor(Math.random() * 1_000_000));
/** `FAULT_ROUNDS=200` for the long form. */
const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? 15);
const CATEGORIES = ['apple', 'pear', 'fig'];
const EVENTS_OF_APPEND = 150;
/** Long enough for more events than the tail holds: the read model must read pages afterwards. */
const SLOW_MS = 2_000;

const wantedBy: readonly (readonly string[])[] = [
  CATEGORIES,
  ['apple'],
  ['pear', 'fig'],
  CATEGORIES,
  ['fig'],
  CATEGORIES,
];
const SLOW = 3;
const PARKS = 0;
const REBUILT = 5;

const nameOf = (n: number): string => `journal_${n}`;
let isMended = false;

/** @param slow whether its next batch takes long */
const journal = (n: number, slow: () => boolean): Projection => ({
  name: nameOf(n),
  tables: [nameOf(n)],
  categories: wantedBy[n] ?? [],
  apply: async (client, events) => {
    if (slow()) await sleep(SLOW_MS);
    const bad = events.find(({ data }) => data['bad'] === true && n === PARKS && !isMended);
    if (bad !== undefined) throw new UnprojectableEventError(bad, 'it is bad');
    await client.query(
      `insert into ${nameOf(n)} (position, stream, revision)
       select * from unnest($1::text[], $2::text[], $3::bigint[])`,
      [
        events.map(({ position }) => position),
        events.map(({ stream }) => stream),
        events.map(({ revision }) => revision),
      ],
    );
  },
});

/** The log under test: its writer, the stores of two processes that follow it, and its faults. */
interface Log {
  readonly writer: EventStore;
  readonly followers: readonly EventStore[];
  readonly faults: readonly (() => Promise<void>)[];
  close(): Promise<void>;
}

let fixture: ProjectionFixture;
let log: Log | undefined;
beforeEach(async () => {
  isMended = false;
  fixture = await createProjectionFixture();
  await fixture.open();
  for (const n of wantedBy.keys()) {
    await fixture.pool.query(
      `create table ${nameOf(n)} (at bigint generated always as identity, position text, stream text, revision bigint)`,
    );
  }
});
afterEach(async () => {
  await fixture.close();
  await log?.close();
  await fixture.drop();
});

const inPostgres = async (): Promise<Log> => {
  const opened = [openPostgresStore(fixture.url), openPostgresStore(fixture.url)];
  const { pool } = fixture;
  return {
    writer: fixture.store,
    followers: opened.map(({ store }) => store),
    faults: ['exchange-listen', 'exchange-test', 'exchange-append'].map(
      (name) => () => terminate(pool, name),
    ),
    close: async () => {
      for (const { close } of opened) await close();
    },
  };
};

const inEventStoreDb = async (): Promise<Log> => {
  const service = await startEventStoreService();
  const [writer, ...followers] = [1, 2, 3].map(() => openEventStoreDbStore(service.url).store);
  if (writer === undefined) throw new Error('no store');
  return {
    writer,
    followers,
    faults: [
      ...(['end', 'cancelled', 'too-slow', 'unavailable'] as const).map((how) => async () => {
        service.faults.dropSubscriptions(how);
      }),
      async () => {
        service.faults.resetConnections();
      },
    ],
    close: async () => {
      for (const store of [writer, ...followers]) await store.close();
      await service.close();
    },
  };
};

const terminate = async (pool: Pool, applicationName: string): Promise<void> => {
  await pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = $1 and datname = current_database()`,
    [applicationName],
  );
};

interface Entry {
  readonly position: string;
  readonly stream: string;
}

const entriesOf = async (n: number): Promise<readonly Entry[]> =>
  (await fixture.pool.query<Entry>(`select position, stream from ${nameOf(n)} order by at`)).rows;

/** A batch with a bad event is applied stream by stream, so only the order within each stream is guaranteed. */
const byStream = (entries: readonly Entry[]): readonly Entry[] =>
  entries.toSorted((one, other) => (one.stream === other.stream ? 0 : one.stream < other.stream ? -1 : 1));

const checkpointOf = async (n: number): Promise<Position> => {
  const { rows } = await fixture.pool.query<{ position: Position }>(
    'select position from projection_checkpoints where name = $1',
    [nameOf(n)],
  );
  return rows[0]?.position ?? START;
};

it.each([
  ['Postgres', inPostgres],
  ['EventStoreDB', inEventStoreDb],
])(
  'of a log in %s, gives every read model each event once and in order, with kills, slowness, parked streams and a rebuild',
  async (where, open) => {
    console.log(`${where}, seed ${SEED}`);
    log = await open();
    const { writer, followers } = log;
    const random = createRandom(SEED);
    // The faults below choose this, so that a seed's meaning does not depend on the order of batches.
    let slowBatches = 0;
    const isSlow = (n: number) => (): boolean => n === SLOW && slowBatches > 0 && (slowBatches -= 1) >= 0;
    const projections = wantedBy.map((_, n) => journal(n, isSlow(n)));
    // Two processes: if one loses its leadership, the other takes over.
    for (const store of followers) fixture.engine({ projections, store });

    const streams = CATEGORIES.flatMap((category) => [1, 2, 3].map((n) => `${category}-1-${n}`));
    const badStream = 'apple-1-1';
    const written = new Map<string, number>();
    const append = async (stream: string, isBad: boolean): Promise<void> => {
      const events = Array.from({ length: EVENTS_OF_APPEND }, (_, n) =>
        toyEvent(1, { n: 1, ...(isBad && n === 0 && { bad: true }) }),
      );
      const revision = written.get(stream) ?? 0;
      const expected = revision === 0 ? 'no-stream' : revision - 1;
      // Connections are killed meanwhile: repeats the same ids at the same revision until success.
      for (;;) {
        const done = await writer.append(stream, events, expected).catch(() => undefined);
        if (done !== undefined) break;
        await sleep(20);
      }
      written.set(stream, revision + events.length);
    };

    const faults: readonly (() => Promise<void>)[] = [
      () => terminate(fixture.pool, 'test-projector'),
      ...log.faults,
      () => terminate(fixture.pool, SERVICE_CONNECTION),
      async () => {
        slowBatches = 2;
      },
      async () => {
        const rebuilt = projections.filter(({ name }) => name === nameOf(REBUILT));
        await resetReadModels(fixture.pool, rebuilt, await writer.head());
      },
    ];
    for (let round = 0; round < ROUNDS; round += 1) {
      const fault = faults[round % faults.length];
      // Postgres may refuse a fault that conflicts with a runner's own statements. Then this round has none.
      if (random.chance(0.8)) await fault?.().catch(() => undefined);
      await Promise.all(
        streams.flatMap((stream) =>
          random.chance(0.7) ? [append(stream, stream === badStream && round > 3)] : [],
        ),
      );
      await sleep(random.below(60));
    }
    const head = await writer.head();
    for (const n of wantedBy.keys()) {
      await until(async () => comparePositions(await checkpointOf(n), head) >= 0, 240_000);
    }

    const events: RecordedEvent[] = [];
    for (;;) {
      const page = await writer.readAll({ after: events.at(-1)?.position ?? START, limit: 1_000 });
      if (page.length === 0) break;
      events.push(...page);
    }
    const wanted = (n: number): readonly Entry[] =>
      events
        .filter(({ stream }) => wantedBy[n]?.includes(stream.split('-')[0] ?? ''))
        .map(({ position, stream }) => ({ position, stream }));
    for (const n of wantedBy.keys()) {
      if (n !== PARKS) expect([n, await entriesOf(n)]).toEqual([n, wanted(n)]);
    }
    const isGood = ({ stream }: Entry): boolean => stream !== badStream;
    expect(byStream((await entriesOf(PARKS)).filter(isGood))).toEqual(byStream(wanted(PARKS).filter(isGood)));
    expect((await fixture.totals()).parked).toBe(1);

    isMended = true;
    await retryAllParked(fixture.pool, writer, projections[PARKS] as Projection);
    await until(async () => (await fixture.totals()).parked === 0);
    expect((await entriesOf(PARKS)).filter((entry) => !isGood(entry))).toEqual(
      wanted(PARKS).filter((entry) => !isGood(entry)),
    );
    console.log(
      `${events.length} events, ${wantedBy.length} read models, ${ROUNDS} rounds: none skipped, doubled or out of order`,
    );
  },
  600_000,
);
