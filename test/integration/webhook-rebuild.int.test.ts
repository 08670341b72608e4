import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readConfig } from '../../app/config.ts';
import type { Installation } from '../../app/installation.ts';
import { isFanOutWhole } from '../../app/lookups/fan-out-whole.ts';
import { createLog } from '../../app/log.ts';
import { rebuildReadModels } from '../../cli/rebuild-read-models.ts';
import { WEBHOOK } from '../../domain/webhooks/work.ts';
import { allProjections } from '../../projections/all-projections.ts';
import { isRebuildable, rebuildOnline } from '../../projections/engine/copy/online-rebuild.ts';
import { startProjections } from '../../projections/engine/projection-engine.ts';
import { createProjectionRunner } from '../../projections/engine/projection-runner.ts';
import { webhookFanOut } from '../../projections/webhook-fan-out.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { rebuildOptions } from '../support/rebuild-options.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';
import { accountIn, appendTo, createWebhookLog, type WebhookLog } from '../support/webhook-log.ts';

/** Rebuilding the read models sends nothing again. */

const SUBSCRIPTION = 'a0000000-0000-4000-8000-000000000001';
const EVENTS = 300;

let database: TestDatabase;
let installation: Installation;
beforeAll(async () => {
  database = await createTestDatabase();
  installation = await openWithLongTimeouts(readConfig({ DATABASE_URL: database.url }), 'test');
  await installation.migrate();
});
afterAll(async () => {
  await installation.close();
  await database.drop();
});

const query = async <T extends object>(text: string): Promise<T[]> =>
  (await installation.pool.query<T>(text)).rows;

const deliveries = () => query(`select to_jsonb(d) as row from webhook_deliveries d order by d.id`);
const messages = () => query(`select to_jsonb(m) as row from webhook_messages m order by m.id`);

const log: WebhookLog = createWebhookLog();
const account = accountIn(log, 7);

const isAtHead = async (): Promise<boolean> => {
  const [row] = await query<{ done: boolean }>(
    `select coalesce((select position from projection_checkpoints where name = '${webhookFanOut.name}'), '-')
       >= lpad((select max(position) from events)::text, 16, '0') as done`,
  );
  return row?.done === true;
};

it('two runners of the same log make each delivery once', async () => {
  const ending = new AbortController();
  const runners = [0, 1].map(() =>
    createProjectionRunner({
      projection: webhookFanOut,
      store: installation.store,
      pool: installation.derivedPool,
      log: createLog('silent'),
      onCommit: () => undefined,
    }).run(ending.signal),
  );
  account.subscribe(SUBSCRIPTION, { eventTypes: ['advertiser.*'] });
  for (let n = 0; n < EVENTS; n += 1) account.archiveAdvertiser(n % 5);
  await appendTo(installation.store, log.events);
  await until(isAtHead);
  ending.abort();
  await Promise.all(runners);
  expect(await deliveries()).toHaveLength(EVENTS);
  expect(await messages()).toHaveLength(EVENTS);
});

it('neither an online nor an offline rebuild makes or changes a delivery', async () => {
  const engine = startProjections({
    projections: allProjections,
    store: installation.store,
    connectionString: database.url,
    pool: installation.derivedPool,
    log: createLog('silent'),
  });
  await until(async () => (await engine.status()).every(({ lagEvents }) => lagEvents === 0));
  await query(
    `update webhook_deliveries set state = case when kind = 'advertiser.archived' then 'delivered' else state end`,
  );
  await query('delete from work_list');
  const [before, sent] = [await deliveries(), await messages()];

  const options = rebuildOptions({ databaseUrl: database.url, store: installation.store });
  for (const projection of allProjections.filter(isRebuildable)) await rebuildOnline(options, projection);
  await engine.stop();
  expect(await deliveries()).toEqual(before);
  expect(await query(`select key from work_list where kind = '${WEBHOOK}'`)).toEqual([]);

  await query(
    `update webhook_deliveries set state = 'due' where id = (select min(id::text)::uuid from webhook_deliveries)`,
  );
  const waiting = await deliveries();
  const { readModels } = await rebuildReadModels(installation, createLog('silent'), () => undefined);
  expect(readModels).toContain(webhookFanOut.name);
  expect(await deliveries()).toEqual(waiting);
  expect(await messages()).toEqual(sent);
  expect(await query(`select status from webhook_endpoints`)).toEqual([{ status: 'active' }]);
  // What was due before is listed again.
  expect(await query(`select key from work_list where kind = '${WEBHOOK}'`)).toEqual([{ key: SUBSCRIPTION }]);
  expect(await isFanOutWhole(installation.pool)).toBe(true);
});

it('after the checkpoint was lost, nothing is sent before all endpoints are read again', async () => {
  await query(`delete from projection_checkpoints where name = '${webhookFanOut.name}'`);
  const before = await deliveries();
  const ending = new AbortController();
  const seen: boolean[] = [];
  let asked: Promise<unknown> = Promise.resolve();
  const runner = createProjectionRunner({
    projection: webhookFanOut,
    store: {
      subscribeToAll: (options) => installation.store.subscribeToAll({ ...options, batchSize: 20 }),
    },
    pool: installation.derivedPool,
    log: createLog('silent'),
    onCommit: () => {
      asked = asked.then(async () => seen.push(await isFanOutWhole(installation.pool)));
    },
  });
  const running = runner.run(ending.signal);
  await until(isAtHead);
  ending.abort();
  await running;
  await asked;
  expect(await isFanOutWhole(installation.pool)).toBe(true);
  const { length } = seen.filter((isWhole) => !isWhole);
  expect(length).toBeGreaterThan(3);
  expect(await deliveries()).toEqual(before);
});
