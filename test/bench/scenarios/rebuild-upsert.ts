import { Client, Pool } from 'pg';
import { pino } from 'pino';
import { migrations } from '../../../migrations/index.ts';
import { allProjections } from '../../../projections/all-projections.ts';
import { isRebuildable, rebuildOnline } from '../../../projections/engine/copy/online-rebuild.ts';
import { createProjectionRunner } from '../../../projections/engine/projection-runner.ts';
import type { Projection } from '../../../projections/engine/projection.ts';
import { START, type EventStore } from '../../../shared/event-store/event-store.ts';
import { createPostgresEventStore } from '../../../shared/event-store/postgres/postgres-event-store.ts';
import { createPool } from '../../../shared/postgres/pool.ts';
import { runSql } from '../bench-database.ts';
import { fillLogWithAllKinds } from '../fill-all-kinds.ts';
import { alternate, lineOf, type Line } from '../measure.ts';
import type { Bench, Scenario } from './scenario.ts';

const BATCH = 1_000;

/**
 * A complete rebuild of each read model, against upserts of the rows that its events produce, in batches of 1,000
 * events with one statement for each table. The baseline measures writing alone: its rows are in memory, and it does
 * not count events without rows.
 */
export const rebuildAgainstUpserts: Scenario = async (bench) => {
  const lines: Line[] = [];
  for (const projection of allProjections) lines.push(await rebuildOf(bench, projection));
  return lines;
};

/**
 * A projection without tables to rebuild catches up from the start of the log instead. These are the tables it writes.
 */
const writtenTables = ({ name, tables, work }: Projection): readonly string[] => {
  if (name === 'credentials') return ['accounts', 'users', 'api_keys'];
  return tables.length === 0 && work !== undefined ? ['work_list'] : tables;
};

const rebuildOf = async (bench: Bench, projection: Projection): Promise<Line> => {
  const { url } = await bench.createDatabase();
  const count = await fillLogWithAllKinds(url, projection.categories, bench.quick ? 20_000 : 200_000);
  const log = pino({ level: 'silent' });
  const pool = createPool(
    { connectionString: url, applicationName: 'bench', max: 4, asyncCommit: true },
    log,
  );
  const store = createPostgresEventStore({ connectionString: url, pool, log });
  const peer = new Pool({ connectionString: url, max: 1, options: '-c synchronous_commit=off' });
  const tables = writtenTables(projection);
  const empty = (): Promise<unknown> =>
    runSql(url, `truncate ${tables.join(', ')}`, 'delete from projection_checkpoints');
  const catchUp = async (): Promise<void> => {
    const ending = new AbortController();
    const runner = createProjectionRunner({
      projection,
      store,
      pool,
      log,
      onCommit: ({ parked }) => {
        if (parked.length > 0 || runner.report.state === 'live') ending.abort();
      },
    });
    await runner.run(ending.signal);
  };
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
    if (!isRebuildable(projection)) await empty();
    const startMs = performance.now();
    if (isRebuildable(projection)) await rebuildOnline(options, projection);
    else await catchUp();
    return (count * 1_000) / (performance.now() - startMs);
  };
  try {
    const batches = await rowsByBatch(url, store, projection, tables);
    await runSql(
      url,
      `insert into projection_checkpoints (name, position)
       select '${projection.name}', lpad(max(position)::text, 16, '0') from events on conflict do nothing`,
      ...tables.map((table) => `create table upserted_${table} (like ${table} including all)`),
    );
    const result = await alternate(Math.min(bench.rounds, 3), rebuild, async () => {
      await runSql(url, ...tables.map((table) => `truncate upserted_${table}`));
      return upsertRate(peer, batches);
    });
    const { rows: parked } = await pool.query('select from parked_streams');
    if (parked.length > 0) throw new Error(`${projection.name}: ${parked.length} streams are parked`);
    return lineOf({
      name: `rebuild of ${projection.name}, ${count.toLocaleString('en')} events`,
      unit: '/s',
      ...result,
      baselineName: `unnest upserts of their rows, by ${BATCH.toLocaleString('en')} events`,
      goal: 0.4,
    });
  } finally {
    await store.close();
    await Promise.all([pool.end(), peer.end()]);
  }
};

/** The rows of one table that one batch of events wrote, as text, column by column. */
interface WrittenRows {
  readonly statement: string;
  readonly columns: readonly (readonly (string | null)[])[];
}

interface BatchRows {
  readonly events: number;
  readonly tables: readonly WrittenRows[];
}

/** The rows that the read model's own code writes. Leaves the tables filled. */
const rowsByBatch = async (
  url: string,
  store: EventStore,
  { apply, categories }: Projection,
  tables: readonly string[],
): Promise<readonly BatchRows[]> => {
  const shapes = await Promise.all(tables.map((table) => shapeOf(url, table)));
  const client = new Client({ connectionString: url });
  await client.connect();
  const ending = new AbortController();
  const batches: BatchRows[] = [];
  try {
    const subscription = store.subscribeToAll({
      after: START,
      filter: { categories },
      batchSize: BATCH,
      signal: ending.signal,
    });
    for await (const { events, caughtUp } of subscription) {
      await client.query('begin');
      await apply(client, events);
      const written: WrittenRows[] = [];
      for (const { table, names, statement } of shapes) {
        const { rows } = await client.query<(string | null)[]>({
          text: `select ${names.map((name) => `${name}::text`).join(', ')} from ${table}
                 where xmin::text::bigint >= pg_current_xact_id()::text::bigint`,
          rowMode: 'array',
        });
        if (rows.length === 0) continue;
        written.push({
          statement,
          columns: names.map((_, column) => rows.map((row) => row[column] ?? null)),
        });
      }
      await client.query('commit');
      batches.push({ events: events.length, tables: written });
      if (caughtUp) break;
    }
    return batches;
  } finally {
    ending.abort();
    await client.end();
  }
};

const shapeOf = async (
  url: string,
  table: string,
): Promise<{ readonly table: string; readonly names: readonly string[]; readonly statement: string }> => {
  const columns = (await runSql(
    url,
    `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, coalesce(a.attnum = any(i.indkey), false) as key
     from pg_attribute a left join pg_index i on i.indrelid = a.attrelid and i.indisprimary
     where a.attrelid = '${table}'::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum`,
  )) as { name: string; type: string; key: boolean }[];
  const names = columns.map(({ name }) => name);
  // An array of arrays must be rectangular, so arrays are passed as text.
  const isText = ({ type }: { type: string }): boolean => type.endsWith('[]') || type === 'bytea';
  const key = columns.filter((column) => column.key).map(({ name }) => name);
  const changing = names.filter((name) => !key.includes(name)).map((name) => `${name} = excluded.${name}`);
  const params = columns.map((column, n) => `$${n + 1}::${isText(column) ? 'text' : column.type}[]`);
  const selected = columns.map((column) => (isText(column) ? `${column.name}::${column.type}` : column.name));
  return {
    table,
    names,
    statement: `insert into upserted_${table} (${names.join(', ')}) select ${selected.join(', ')}
      from unnest(${params.join(', ')}) as n(${names.join(', ')}) on conflict (${key.join(', ')})
      do ${changing.length === 0 ? 'nothing' : `update set ${changing.join(', ')}`}`,
  };
};

/** @returns events per second, of batches that write rows */
const upsertRate = async (peer: Pool, batches: readonly BatchRows[]): Promise<number> => {
  const startMs = performance.now();
  let events = 0;
  for (const batch of batches.filter(({ tables }) => tables.length > 0)) {
    for (const { statement, columns } of batch.tables) {
      await peer.query({ name: statement.slice(0, 60), text: statement, values: [...columns] });
    }
    events += batch.events;
  }
  return (events * 1_000) / (performance.now() - startMs);
};
