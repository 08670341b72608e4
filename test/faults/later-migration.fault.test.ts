import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Knex } from 'knex';
import { readConfig } from '../../app/config.ts';
import { createAccount } from '../../app/create-account.ts';
import type { Installation } from '../../app/installation.ts';
import { migrations } from '../../migrations/index.ts';
import { requestRights } from '../../migrations/request-rights.ts';
import { createTenantTable } from '../../migrations/schema.ts';
import { isolateTenants } from '../../shared/postgres/isolate-tenants.ts';
import { migrate } from '../../shared/postgres/migrate.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { createOwnedDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';
import { today, untilCaughtUp } from './crash-run.ts';
import { checkHistory } from './kit/checker.ts';
import { runClient } from './kit/client.ts';
import { emptyHistory } from './kit/history.ts';
import { referencedStoresOf } from './kit/partial-writes.ts';
import { createRandom } from './kit/random.ts';
import { startSupervisor, type Supervisor } from './kit/supervisor.ts';

/** A migration on top of the present ones runs while processes serve that do not know it. */
const later = {
  name: '9999-later',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw('alter table advertisers add column later text');
    await knex.raw('create index advertisers_by_later on advertisers (customer_id, later)');
    await createTenantTable(knex, 'later_things', (table) => void table.text('name'));
  },
};
const laterRights = { ...requestRights, readable: [...requestRights.readable, 'later_things'] };

const CLIENTS = 6;
const COMMANDS_BETWEEN = 100;

let database: TestDatabase;
let folder: string;
let installation: Installation;
let supervisor: Supervisor;
beforeAll(async () => {
  // Row policies are forced on its owner: the new table must be forced, too.
  database = await createOwnedDatabase();
  folder = await mkdtemp(join(tmpdir(), 'exchange-later-'));
});
afterAll(async () => {
  await supervisor.stop();
  await installation.close();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

it('runs under load: nothing is lost or stale, and a process without it starts again', async () => {
  const settings = {
    DATABASE_URL: database.url,
    DATA_DIR: folder,
    SECRET_KEYS: `faults:${'A'.repeat(43)}`,
    BASE_URL: 'http://exchange.test',
  };
  supervisor = await startSupervisor([{ ROLES: 'api' }, { ROLES: 'projector' }], settings);
  await supervisor.ready();
  const config = readConfig(settings);
  installation = await openWithLongTimeouts(config, 'faults');
  const account = await createAccount(installation, 'Later');
  const [history, days] = [emptyHistory(), [today()]];
  let going = true;
  const clients = Array.from({ length: CLIENTS }, (_, index) =>
    runClient({
      name: `l${index}`,
      ports: supervisor.ports.slice(0, 1),
      ...account,
      areas: ['advertisers', 'campaigns', 'creatives', 'uploads'],
      engineId: 0,
      random: createRandom(index),
      history,
      goOn: () => going,
    }),
  );
  const untilMore = async (): Promise<void> => {
    const enough = history.operations.length + COMMANDS_BETWEEN;
    await until(async () => history.operations.length >= enough);
  };
  await untilMore();
  const startedMs = performance.now();
  expect(await migrate(database.url, [...migrations, later])).toEqual([later.name]);
  expect(await isolateTenants(database.url, laterRights)).toBe('forced');
  const tookMs = Math.round(performance.now() - startedMs);
  await untilMore();
  for (const index of [0, 1]) {
    supervisor.kill(index);
    await until(async () => supervisor.crashes > index);
    await supervisor.ready();
  }
  await untilMore();
  going = false;
  await Promise.all(clients);
  await untilCaughtUp(supervisor.ports[1] ?? 0);
  console.log(`${history.operations.length} commands, ${history.reads} reads; migrated in ${tookMs} ms`);
  expect(await forcedTables()).toEqual({ all: true, later: true });
  // Only the version that has a migration compares read models on its schema.
  await installation.pool.query('delete from knex_migrations where name = $1', [later.name]);
  days.push(today());
  const keeps = await referencedStoresOf(config, installation);
  const findings = await checkHistory(history, installation, keeps, [...new Set(days)]);
  expect(Object.entries(findings).filter(([, found]) => found.length > 0)).toEqual([]);
}, 90_000);

const forcedTables = async (): Promise<object | undefined> => {
  const { rows } = await installation.pool.query<object>(
    `select bool_and(relforcerowsecurity) as all, bool_or(relforcerowsecurity and relname = 'later_things') as later
     from pg_class where relrowsecurity and relkind = 'r' and relnamespace = 'public'::regnamespace`,
  );
  return rows[0];
};
