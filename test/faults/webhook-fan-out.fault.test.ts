import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readConfig } from '../../app/config.ts';
import type { Installation } from '../../app/installation.ts';
import { webhookFanOut } from '../../projections/webhook-fan-out.ts';
import { derivedId, notificationIdOf } from '../../shared/aggregate/ids.ts';
import { amount } from '../support/amount.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';
import { accountIn, appendTo, createWebhookLog } from '../support/webhook-log.ts';
import { startSupervisor, type Supervisor } from './kit/supervisor.ts';

/** Projectors are killed between rows, checkpoint and commit: each event has one delivery for each subscription. */

const ROUNDS = amount(32, 600);

let database: TestDatabase;
let installation: Installation;
let supervisor: Supervisor;
beforeAll(async () => {
  database = await createTestDatabase();
  installation = await openWithLongTimeouts(readConfig({ DATABASE_URL: database.url }), 'faults');
  await installation.migrate();
  supervisor = await startSupervisor(2, {
    DATABASE_URL: database.url,
    ROLES: 'projector',
    EXCHANGE_FAILPOINTS:
      'projection-before-rows:0.05,projection-before-commit:0.05,projection-after-commit:0.05',
  });
  await supervisor.ready();
});
afterAll(async () => {
  await supervisor.stop();
  await installation.close();
  await database.drop();
});

it(
  'has one delivery of each event for each subscription',
  async () => {
    const log = createWebhookLog();
    const account = accountIn(log, 7);
    const subscriptions: string[] = [];
    const expected: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const from = log.events.length;
      if (round % 20 === 0) {
        const subscriptionId = randomUUID();
        account.subscribe(subscriptionId, { eventTypes: ['advertiser.*'] });
        subscriptions.push(subscriptionId);
      }
      for (const id of [1, 2, 3]) {
        const message = notificationIdOf(account.archiveAdvertiser(id).id, 0);
        expected.push(...subscriptions.map((subscriptionId) => derivedId(message, subscriptionId)));
      }
      await appendTo(installation.store, log.events.slice(from));
      // Otherwise a process that starts again finds all events in one batch.
      if (round % 4 === 0) await until(isDone, 60_000);
    }
    await until(isDone, 60_000);
    const { crashes } = supervisor;
    const { rows } = await installation.pool.query<{ id: string }>('select id from webhook_deliveries');
    expect(rows.map(({ id }) => id).toSorted()).toEqual(expected.toSorted());
    expect(crashes).toBeGreaterThan(2);
    console.log(`fan-out: ${expected.length} deliveries of ${log.events.length} events, ${crashes} kills`);
  },
  amount(300_000, 3_600_000),
);

const isDone = async (): Promise<boolean> => {
  const { rows } = await installation.pool.query<{ done: boolean }>(
    `select position >= lpad((select max(position) from events)::text, 16, '0') as done
     from projection_checkpoints where name = $1`,
    [webhookFanOut.name],
  );
  return rows[0]?.done === true;
};
