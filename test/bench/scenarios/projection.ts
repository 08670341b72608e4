import { pino } from 'pino';
import { Pool } from 'pg';
import { advertisersProjection } from '../../../projections/advertisers.ts';
import { createProjectionRunner } from '../../../projections/engine/projection-runner.ts';
import type { Projection } from '../../../projections/engine/projection.ts';
import { webhookFanOut } from '../../../projections/webhook-fan-out.ts';
import { createPostgresEventStore } from '../../../shared/event-store/postgres/postgres-event-store.ts';
import { createPool } from '../../../shared/postgres/pool.ts';
import { runSql } from '../bench-database.ts';
import { fillLog } from '../fill-log.ts';
import { alternate, lineOf } from '../measure.ts';
import type { Scenario } from './scenario.ts';

const BATCH = 1_000;

const readsOnly: Projection = { ...webhookFanOut, apply: async () => false };

/**
 * The advertisers projection over a whole log, against upserts of the same rows from memory; and the fan-out of webhooks
 * over the same events, of accounts without subscriptions, against reading them.
 */
export const liveProjection: Scenario = async (bench) => {
  const { url } = await bench.createDatabase();
  const count = bench.quick ? 10_000 : 100_000;
  await fillLog(url, 1, count);
  await runSql(url, 'vacuum analyze events');
  const log = pino({ level: 'silent' });
  const pool = createPool(
    { connectionString: url, applicationName: 'bench', max: 4, asyncCommit: true },
    log,
  );
  const store = createPostgresEventStore({ connectionString: url, pool, log });
  const empty = (): Promise<unknown> =>
    runSql(url, 'truncate advertisers, advertiser_counts, projection_checkpoints');
  const projecting = (projection: Projection) => async (): Promise<number> => {
    await empty();
    const ending = new AbortController();
    const runner = createProjectionRunner({
      projection,
      store,
      pool,
      log,
      onCommit: () => {
        if (runner.report.state === 'live') ending.abort();
      },
    });
    const startMs = performance.now();
    await runner.run(ending.signal);
    return (count * 1000) / (performance.now() - startMs);
  };
  const project = projecting(advertisersProjection);
  try {
    await project();
    const rows = await readRows(url);
    if (rows.length !== count) throw new Error(`${rows.length} rows of ${count} events`);
    const peer = new Pool({ connectionString: url, max: 1, options: '-c synchronous_commit=off' });
    const upsert = async (): Promise<number> => {
      await runSql(url, 'truncate advertisers');
      return upsertRate(peer, inBatches(rows));
    };
    const result = await alternate(bench.rounds, project, upsert);
    const fanOut = await alternate(bench.rounds, projecting(webhookFanOut), projecting(readsOnly));
    await peer.end();
    return [
      lineOf({
        name: `live projection, ${count.toLocaleString('en')} events`,
        unit: '/s',
        ...result,
        baselineName: `unnest upsert by ${BATCH.toLocaleString('en')}`,
        goal: 1,
        note: 'the baseline has its rows in memory: no log to read, nothing to fold',
      }),
      lineOf({
        name: `fan-out of webhooks without subscriptions, ${count.toLocaleString('en')} events`,
        unit: '/s',
        ...fanOut,
        baselineName: 'a projection that does nothing',
        goal: 0.9,
        note: 'asks for endpoints once a batch',
      }),
    ];
  } finally {
    await store.close();
    await pool.end();
  }
};

/** Columns of the read model, without those for counts and comparison. */
type Row = readonly [number, number, number, string, boolean, string, string, string];

const readRows = async (url: string): Promise<readonly Row[]> =>
  (
    (await runSql(
      url,
      `select customer_id::int, id, revision::int, status, sandbox, name, created_at::text, body
       from advertisers order by id`,
    )) as Record<string, unknown>[]
  ).map((row) => Object.values(row) as unknown as Row);

/** Batches of the size that the baseline upserts. */
const inBatches = <Item>(items: readonly Item[]): readonly (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / BATCH) }, (_, n) => items.slice(n * BATCH, (n + 1) * BATCH));

/**
 * Rows per second, with one statement for each batch. A batch contains no row twice.
 * @param table has the columns of the read model
 */
const upsertRate = async (
  pool: Pool,
  batches: readonly (readonly Row[])[],
  table = 'advertisers',
): Promise<number> => {
  const startMs = performance.now();
  let rows = 0;
  for (const batch of batches) {
    rows += batch.length;
    await pool.query({
      name: 'upsert',
      text: `insert into ${table} (customer_id, id, revision, status, sandbox, name, created_at, body)
        select * from unnest($1::bigint[], $2::int[], $3::bigint[], $4::text[], $5::boolean[], $6::text[],
                             $7::timestamptz[], $8::text[])
        on conflict (customer_id, id) do update set revision = excluded.revision, status = excluded.status,
          name = excluded.name, body = excluded.body`,
      values: [0, 1, 2, 3, 4, 5, 6, 7].map((column) => batch.map((row) => row[column])),
    });
  }
  return (rows * 1000) / (performance.now() - startMs);
};
