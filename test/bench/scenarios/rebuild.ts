import { pino } from 'pino';
import { advertisersProjection } from '../../../projections/advertisers.ts';
import { migrations } from '../../../migrations/index.ts';
import { rebuildOnline, verifyOnline } from '../../../projections/engine/copy/online-rebuild.ts';
import { systemClock } from '../../../shared/async/clock.ts';
import { START } from '../../../shared/event-store/event-store.ts';
import { createPostgresEventStore } from '../../../shared/event-store/postgres/postgres-event-store.ts';
import { postgresLogBytes } from '../../../shared/log-chain/log-bytes.ts';
import { logKeysOf } from '../../../shared/log-chain/log-keys.ts';
import { sealLog } from '../../../shared/log-chain/seal-log.ts';
import { verifyLog } from '../../../shared/log-chain/verify-log.ts';
import { createPool } from '../../../shared/postgres/pool.ts';
import { runSql } from '../bench-database.ts';
import { fillLogMixed } from '../fill-log.ts';
import { alternate, lineOf } from '../measure.ts';
import type { Scenario } from './scenario.ts';

const PAGE = 5_000;

/**
 * A complete rebuild of the advertiser read model while the live one is in use: schema, rows, indexes, comparison,
 * switch. Against reading the same events as objects.
 */
export const rebuild: Scenario = async (bench) => {
  const { url } = await bench.createDatabase();
  const count = bench.quick ? 50_000 : 1_000_000;
  await fillLogMixed(url, 1, count);
  await runSql(url, 'vacuum analyze events');
  const log = pino({ level: 'silent' });
  const pool = createPool({ connectionString: url, applicationName: 'bench', max: 4 }, log);
  const store = createPostgresEventStore({ connectionString: url, pool, log });
  // The checkpoint of a live read model that has caught up.
  await runSql(
    url,
    `insert into projection_checkpoints (name, position)
     select 'advertisers', lpad(max(position)::text, 16, '0') from events`,
  );
  let heapBytes = 0;
  const options = {
    databaseUrl: url,
    store,
    log,
    program: 'bench',
    migrations: migrations.map(({ name }) => name),
    signal: new AbortController().signal,
    onProgress: () => {
      heapBytes = Math.max(heapBytes, process.memoryUsage.rss());
    },
  };
  const rate = async (work: () => Promise<unknown>): Promise<number> => {
    const startMs = performance.now();
    await work();
    return (count * 1_000) / (performance.now() - startMs);
  };
  const read = (): Promise<number> =>
    rate(async () => {
      let events = 0;
      for (let after = START; ;) {
        const page = await store.readAll({ after, limit: PAGE });
        const last = page.at(-1);
        if (last === undefined) break;
        events += page.length;
        after = last.position;
      }
      if (events !== count) throw new Error(`${events} of ${count} events`);
    });
  const named = { unit: '/s', baselineName: 'reading the events as objects' };
  const size = `${count.toLocaleString('en')} mixed events`;
  try {
    const rounds = Math.min(bench.rounds, 2);
    const rebuilt = await alternate(
      rounds,
      () => rate(() => rebuildOnline(options, advertisersProjection)),
      read,
    );
    const memory = `at most ${Math.round(heapBytes / 2 ** 20)} MiB resident`;
    let differences = 0;
    const verified = await alternate(
      rounds,
      () =>
        rate(async () => {
          ({ differences } = await verifyOnline(options, advertisersProjection));
        }),
      read,
    );
    const beside = await alternate(
      rounds,
      () => rate(() => verifyOnline(options, advertisersProjection)),
      () => rate(() => rebuildOnline(options, advertisersProjection)),
    );
    if (differences !== 0) throw new Error(`${differences} rows differ`);
    const chain = { pool, log: postgresLogBytes(pool), keys: logKeysOf({}), clock: systemClock };
    for await (const _ of sealLog(chain));
    const hashed = await alternate(rounds, () => rate(() => verifyLog(chain)), read);
    return [
      lineOf({ name: `rebuild of advertisers, ${size}`, ...named, ...rebuilt, goal: 0.7, note: memory }),
      lineOf({ name: `verify of advertisers, ${size}`, ...named, ...verified, goal: 0.7 }),
      lineOf({
        name: `verify of advertisers, ${size}`,
        unit: '/s',
        ...beside,
        baselineName: 'rebuild',
        goal: 1,
      }),
      lineOf({ name: `verify of the log's hash chain, ${size}`, ...named, ...hashed, goal: 0.7 }),
    ];
  } finally {
    await store.close();
    await pool.end();
  }
};
