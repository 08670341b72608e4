import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client, type Pool } from 'pg';
import { allProjections } from '../../projections/all-projections.ts';
import { isRebuildable, verifyOnline } from '../../projections/engine/copy/online-rebuild.ts';
import {
  categoryOf,
  START,
  type EventStore,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { createPostgresEventStore } from '../../shared/event-store/postgres/postgres-event-store.ts';
import { createPool } from '../../shared/postgres/pool.ts';
import { byStream } from '../../projections/engine/fold-streams.ts';
import { GOLDEN, goldenHistory } from '../golden/golden-files.ts';
import { goldenStore } from '../golden/golden-keys.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { silent } from '../support/toy-projection.ts';
import { rebuildOptions } from '../support/rebuild-options.ts';

/**
 * A log with every version of every event gives the read models in `test/golden/read-models.json`.
 * `GOLDEN_WRITE=true` rewrites that file for a review.
 */

const FILE = join(GOLDEN, 'read-models.json');
const LATER_COLUMN = 'of_later_version';

let database: TestDatabase;
let pool: Pool;
let store: EventStore;
let client: Client;
let startedAt = '';
beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({ connectionString: database.url, applicationName: 'test', max: 2 }, silent);
  store = goldenStore(createPostgresEventStore({ connectionString: database.url, pool, log: silent }));
  client = new Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query<{ now: string }>('select now()::text as now');
  startedAt = rows[0]?.now ?? '';
});
afterAll(async () => {
  await client.end();
  await store.close();
  await pool.end();
  await database.drop();
});

const storedHistory = async (): Promise<readonly RecordedEvent[]> => {
  for (const [stream, events] of byStream(goldenHistory() as unknown as RecordedEvent[])) {
    await store.append(stream, events, 'no-stream');
  }
  return store.readAll({ after: START, limit: 10_000 });
};

type Rows = Readonly<Record<string, readonly unknown[]>>;

/** Times from the clock are replaced by `<now>`. */
const rowsOf = async (table: string): Promise<readonly unknown[]> => {
  const { rows: times } = await client.query<{ name: string }>(
    `select column_name as name from information_schema.columns
     where table_name = $1 and data_type = 'timestamp with time zone' order by ordinal_position`,
    [table],
  );
  const columns = times.map(
    ({ name }) => `, '${name}', case when ${name} >= '${startedAt}' and isfinite(${name}) then '<now>'
        else to_char(${name} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') end`,
  );
  const { rows } = await client.query<{ row: unknown }>(
    `select to_jsonb(t) - '${LATER_COLUMN}' || jsonb_build_object(${columns.join('').slice(2)}) as row from ${table} t`,
  );
  return rows
    .map(({ row }) => row)
    .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
};

/** The events before the end of each stream: after its end, a resource has few rows. */
const untilTheirEnd = (history: readonly RecordedEvent[]): ReadonlySet<RecordedEvent> => {
  const begun = new Set<RecordedEvent>();
  for (const events of byStream(history).values()) {
    const end = events.findIndex(({ type }) => ENDS.test(type));
    for (const event of end < 0 ? events : events.slice(0, end)) begun.add(event);
  }
  return begun;
};
const ENDS = /(Archived|Removed|Disabled|Disconnected|Expired|Withdrawn|Detached)$/;

const project = async (history: readonly RecordedEvent[]): Promise<Rows> => {
  for (const { apply, categories } of allProjections) {
    await client.query('begin');
    await apply(
      client,
      history.filter(({ stream }) => categories.includes(categoryOf(stream))),
    );
    await client.query('commit');
  }
  const found: Record<string, readonly unknown[]> = {};
  const others = ['webhook_endpoints', 'webhook_streams', 'work_list'];
  for (const table of new Set([...allProjections.flatMap(({ tables }) => tables), ...others])) {
    found[table] = await rowsOf(table);
  }
  return found;
};

it('the golden history gives the golden read models', async () => {
  const history = await storedHistory();
  const begun = untilTheirEnd(history);
  const found = {
    'before their ends': await project(history.filter((event) => begun.has(event))),
    'after them': await project(history.filter((event) => !begun.has(event))),
  };
  if (process.env['GOLDEN_WRITE'] === 'true') writeFileSync(FILE, `${JSON.stringify(found, null, 1)}\n`);
  expect(found).toEqual(JSON.parse(readFileSync(FILE, 'utf8')));
});

// Uses the rows of the previous test.
it('rebuilt read models equal the golden ones', async () => {
  const head = await store.head();
  for (const { name } of allProjections) {
    await client.query('insert into projection_checkpoints (name, position) values ($1, $2)', [name, head]);
  }
  const options = rebuildOptions({ databaseUrl: database.url, store });
  const empty: string[] = [];
  for (const projection of allProjections.filter(isRebuildable)) {
    const { readModel, rows, tables } = await verifyOnline(options, projection);
    const shown = tables.flatMap((table) => table.shown.map((row) => ({ table: table.table, ...row })));
    expect({ readModel, shown }).toEqual({ readModel, shown: [] });
    if (rows === 0) empty.push(readModel);
  }
  // Rows that a purge may have deleted are not compared.
  expect(empty).toEqual(['assets']);
});

// Last: it changes the tables.
it('read models are written by this version, too, after a later one has added columns to their tables', async () => {
  const { rows } = await client.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' and tablename not like 'knex%'`,
  );
  for (const { name } of rows) {
    await client.query(`alter table ${name} add column ${LATER_COLUMN} text not null default 'later'`);
    if (name !== 'events' && !name.startsWith('log_')) await client.query(`truncate ${name} cascade`);
  }
  const history = await store.readAll({ after: START, limit: 10_000 });
  const begun = untilTheirEnd(history);
  const golden = JSON.parse(readFileSync(FILE, 'utf8')) as { readonly 'before their ends': Rows };
  expect(await project(history.filter((event) => begun.has(event)))).toEqual(golden['before their ends']);
});
