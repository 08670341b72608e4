import { pino } from 'pino';
import { Pool } from 'pg';
import { migrations } from '../../../src/migrations/index.ts';
import { advertisersProjection } from '../../../src/projections/advertisers.ts';
import { rebuildOnline } from '../../../src/projections/engine/copy/online-rebuild.ts';
import { createPostgresEventStore } from '../../../src/shared/event-store/postgres/postgres-event-store.ts';
import { createPool } from '../../../src/shared/postgres/pool.ts';
import { runSql } from '../bench-database.ts';
import { fillLogMixed } from '../fill-log.ts';
import { alternate, lineOf } from '../measure.ts';
import { inBatches, readRows, upsertRate, type Row } from './projection.ts';
import type { Scenario } from './scenario.ts';

/**
 * The advertiser read model made anew, all of it, against one upsert for each of the same events, a thousand in a statement:
 * what a projection that knows no rebuild does. The baseline has its rows in memory.
 */
export const rebuildAgainstUpserts: Scenario = async (bench) => {
  const { url } = await bench.createDatabase();
  const count = bench.quick ? 50_000 : 500_000;
  await fillLogMixed(url, 1, count);
  const log = pino({ level: 'silent' });
  const pool = createPool({ connectionString: url, applicationName: 'bench', max: 4 }, log);
  const store = createPostgresEventStore({ connectionString: url, pool, log });
  const peer = new Pool({ connectionString: url, max: 1, options: '-c synchronous_commit=off' });
  // Where a live read model would stand that has seen everything.
  await runSql(
    url,
    'vacuum analyze events',
    `insert into projection_checkpoints (name, position)
     select 'advertisers', lpad(max(position)::text, 16, '0') from events`,
  );
  const options = {
    databaseUrl: url,
    store,
    log,
    program: 'bench',
    migrations: migrations.map(({ name }) => name),
    signal: new AbortController().signal,
    onProgress: () => undefined,
  };
  const rebuild = async (): Promise<number> => {
    const startMs = performance.now();
    await rebuildOnline(options, advertisersProjection);
    return (count * 1_000) / (performance.now() - startMs);
  };
  try {
    await rebuild();
    const upserts = await upsertsOf(url);
    const eventsOfRow = count / upserts.flat().length;
    const result = await alternate(Math.min(bench.rounds, 3), rebuild, async () => {
      await runSql(
        url,
        'drop table if exists upserted',
        'create table upserted (like advertisers including all)',
      );
      return eventsOfRow * (await upsertRate(peer, upserts, 'upserted'));
    });
    return [
      lineOf({
        name: `rebuild of advertisers, ${count.toLocaleString('en')} mixed events`,
        unit: '/s',
        ...result,
        baselineName: 'unnest upsert of each event, by 1,000',
        goal: 5,
        note: 'the baseline has its rows in memory: no log to read, nothing to fold',
      }),
    ];
  } finally {
    await store.close();
    await Promise.all([pool.end(), peer.end()]);
  }
};

/** What each event leads to, in the order of the log: where a batch has several of one advertiser, the last one. */
const upsertsOf = async (url: string): Promise<readonly (readonly Row[])[]> => {
  const byId = new Map((await readRows(url)).map((row) => [row[1], row]));
  const events = (await runSql(
    url,
    `select split_part(stream, '-', 3)::int as id from events order by position`,
  )) as { id: number }[];
  return inBatches(events).map((batch) =>
    [...new Set(batch.map(({ id }) => id))].map((id) => byId.get(id)).filter((row) => row !== undefined),
  );
};
