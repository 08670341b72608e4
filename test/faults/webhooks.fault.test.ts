import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { readConfig } from '../../app/config.ts';
import { createAccount } from '../../app/create-account.ts';
import type { Installation } from '../../app/installation.ts';
import { advertiserStream } from '../../domain/advertisers/advertiser.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { apiOf, untilDefinite, type Api } from '../support/api-client.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { sampleKeys } from '../support/sample-mails.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { startSupervisor, type Supervisor } from './kit/supervisor.ts';

/**
 * Workers are killed after they read deliveries, before and after requests, and after they store the outcome. Each
 * endpoint gets each event, and once if it goes by `webhook-id`.
 */

/** Probabilities. A read is of many deliveries: at the others' probability, its point would come last, after most kills. */
const POINTS = {
  'webhook-after-read': 0.04,
  'webhook-before-send': 0.02,
  'webhook-after-send': 0.02,
  'webhook-after-outcome': 0.02,
};
const PER_ROUND = 1;
/** On a busy machine workers live shorter than a round: a longer backlog would only mean more kills. */
const WAITING_MAX = 100;
const ROUNDS_MIN = 3;
const ROUNDS_MAX = 300;
/** Their places in the list of processes. */
const WORKERS = [1, 2];
const ROUND_EVERY_MS = 1_000;
const DELIVERED_MS_MAX = 240_000;

interface Account {
  readonly customerId: number;
  readonly api: Api;
  readonly endpoints: readonly { readonly path: string; readonly secret: string }[];
  /** `<advertiser>:<revision>` of each event. */
  readonly events: Set<string>;
}

let database: TestDatabase;
let dataDir: string;
let installation: Installation;
let supervisor: Supervisor;
let receiver: WebhookReceiver;
let hitsFile: string;

beforeAll(async () => {
  database = await createTestDatabase();
  dataDir = await mkdtemp(join(tmpdir(), 'webhooks-'));
  hitsFile = join(dataDir, 'hits');
  const tried = new Set<string>();
  receiver = await startWebhookReceiver(({ path, headers }, response) => {
    const attempt = `${path} ${String(headers['webhook-id'])}`;
    // Some fail first, with all that this means for the order.
    const fails = path.endsWith('fails-first') && !tried.has(attempt) && Math.random() < 0.2;
    tried.add(attempt);
    response.writeHead(fails ? 500 : 204).end();
  });
  const stores = { DATABASE_URL: database.url, DATA_DIR: dataDir, SECRET_KEYS: sampleKeys };
  installation = await openWithLongTimeouts(readConfig(stores), 'webhooks');
  supervisor = await startSupervisor([{ ROLES: 'api,projector' }, { ROLES: 'worker' }, { ROLES: 'worker' }], {
    ...stores,
    OUTBOUND_ALLOW_LOOPBACK: 'true',
    EXCHANGE_FAILPOINTS: Object.entries(POINTS)
      .map((point) => point.join(':'))
      .join(','),
    EXCHANGE_FAILPOINT_FILE: hitsFile,
  });
  await supervisor.ready();
}, 180_000);
afterAll(async () => {
  await supervisor.stop();
  await installation.close();
  await receiver.stop();
  await database.drop();
  await rm(dataDir, { recursive: true, force: true });
});

const openAccount = async (name: string): Promise<Account> => {
  const { customerId, apiKey } = await createAccount(installation, name);
  const api = apiOf(`http://127.0.0.1:${supervisor.ports[0]}`, { Authorization: `Bearer ${apiKey}` });
  const endpoints = await Promise.all(
    ['steady', 'fails-first'].map(async (kind) => {
      const path = `/hook/${name}-${kind}`;
      const body = { url: new URL(path, receiver.url).href, eventTypes: ['advertiser.*'] };
      const created = await untilDefinite(() =>
        api.post<{ secret: string }>('/webhook-subscriptions', body, { 'Idempotency-Key': randomUUID() }),
      );
      return { path, secret: created.body.data.secret };
    }),
  );
  return { customerId, api, endpoints, events: new Set() };
};

const write = async ({ customerId, api, events }: Account): Promise<void> => {
  const created = await api.post<{ id: number }>('/advertisers', { name: randomUUID() });
  const { id } = created.body.data;
  await api.put(`/advertisers/${id}`, { name: randomUUID() });
  for await (const { revision } of installation.store.readStream(advertiserStream(customerId, id))) {
    events.add(`${id}:${revision + 1}`);
  }
};

const waiting = async (): Promise<number> =>
  (await installation.pool.query(`select from webhook_deliveries where state <> 'delivered'`)).rowCount ?? 0;
const isEveryPointHit = async (): Promise<boolean> => {
  const hits = await readFile(hitsFile, 'utf8').catch(() => '');
  return Object.keys(POINTS).every((point) => hits.includes(point));
};

/** By `webhook-id`, as a receiver that goes by it keeps them. */
const keptBy = ({ path, secret }: Account['endpoints'][number]): ReadonlyMap<string, string> => {
  const kept = new Map<string, string>();
  for (const { headers, body, path: at } of receiver.received) {
    if (at !== path) continue;
    const verified = new Webhook(secret).verify(body, headers as Record<string, string>) as {
      readonly id: string;
      readonly data: { readonly resourceId: string; readonly revision: number };
    };
    expect(verified.id).toBe(headers['webhook-id']);
    kept.set(verified.id, `${verified.data.resourceId}:${verified.data.revision}`);
  }
  return kept;
};

it('each event reaches each endpoint, and once by its id, while workers are killed at every step', async () => {
  // A killed worker keeps its subscription for a while. The others go on.
  const accounts = await Promise.all(Array.from({ length: 10 }, (_, at) => openAccount(`account-${at}`)));
  const expected = (): number =>
    accounts.reduce((sum, { events, endpoints }) => sum + events.size * endpoints.length, 0);
  const isThrough = async (): Promise<boolean> => {
    const { rows } = await installation.pool.query<{ count: number }>(
      'select count(*)::int as count from webhook_deliveries',
    );
    return rows[0]?.count === expected() && (await waiting()) === 0;
  };
  for (let round = 0; round < ROUNDS_MIN || (round < ROUNDS_MAX && !(await isEveryPointHit())); round += 1) {
    if ((await waiting()) < WAITING_MAX) {
      for (let n = 0; n < PER_ROUND; n += 1) await Promise.all(accounts.map(write));
    }
    await sleep(ROUND_EVERY_MS);
  }
  expect(await isEveryPointHit()).toBe(true);
  // The rest is delivered without further kills, each of which holds a subscription for half a minute.
  supervisor.calm();
  for (const worker of WORKERS) supervisor.kill(worker);
  await until(isThrough, DELIVERED_MS_MAX);
  console.log(
    `${expected()} deliveries, ${supervisor.crashes} kills, ${receiver.received.length} requests received`,
  );
  expect(receiver.received.length).toBeGreaterThan(expected());
  for (const { events, endpoints } of accounts) {
    for (const endpoint of endpoints) {
      const kept = keptBy(endpoint);
      expect([...kept.values()].sort()).toEqual([...events].sort());
    }
  }
}, 1_800_000);
