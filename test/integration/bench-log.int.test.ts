import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client, type Pool } from 'pg';
import { allProjections } from '../../projections/all-projections.ts';
import {
  categoryOf,
  START,
  type EventStore,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { createPostgresEventStore } from '../../shared/event-store/postgres/postgres-event-store.ts';
import { createPool } from '../../shared/postgres/pool.ts';
import { fillLogWithAllKinds } from '../bench/fill-all-kinds.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { silent } from '../support/toy-projection.ts';

/** Only the long benchmark runs the scenario `rebuild-upsert`: this shows that every projection accepts its log. */

let database: TestDatabase;
let pool: Pool;
let store: EventStore;
let events: readonly RecordedEvent[];
beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({ connectionString: database.url, applicationName: 'test', max: 2 }, silent);
  store = createPostgresEventStore({ connectionString: database.url, pool, log: silent });
  const categories = [...new Set(allProjections.flatMap((projection) => projection.categories))];
  const count = await fillLogWithAllKinds(database.url, categories, 1_000);
  events = await store.readAll({ after: START, limit: count });
  expect(events).toHaveLength(count);
});
afterAll(async () => {
  await store.close();
  await pool.end();
  await database.drop();
});

it.each(allProjections.map((projection) => [projection.name, projection] as const))(
  'the projection %s applies copies of the golden history',
  async (_name, { apply, categories }) => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query('begin');
    const own = events.filter(({ stream }) => categories.includes(categoryOf(stream)));
    await apply(client, own);
    await client.query('commit');
    await client.end();
    expect(own.length).toBeGreaterThan(1);
  },
);
