import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { createLog } from '../../app/log.ts';
import type { Replacements } from '../../app/service.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { AppendOutcomeUnknownError } from '../../shared/event-store/event-store.ts';
import { createPool } from '../../shared/postgres/pool.ts';
import { parseKeyRing } from '../../shared/secrets/key-ring.ts';
import { createSecretStore } from '../../shared/secrets/secret-store.ts';
import { shippedProgram } from '../support/bundles.ts';
import type { CallKind } from '../support/eventstoredb/faults.ts';
import { generousLimits } from '../support/generous-limits.ts';
import { Person } from '../support/person.ts';
import { following, type Program } from '../support/program.ts';
import { startPrometheus, type Prometheus } from '../support/prometheus.ts';
import { describeWithPromtool } from '../support/promtool.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { createTestStores, type TestStores } from '../support/test-stores.ts';
import { until } from '../support/until.ts';
import { typicalEvent } from '../support/typical-event.ts';
import { insertDeliveries, insertEndpoint } from '../support/webhook-rows.ts';

/**
 * Every alert of `deploy/prometheus` fires in a Prometheus that reads three services, once what it warns of happens to
 * them. A minute of the rules is a second here.
 */

const SECRET_KEYS = `test:${'A'.repeat(43)}`;
const keys = async () => parseKeyRing(SECRET_KEYS);
const DESCRIPTORS_MAX = 256;
const FIRING_WITHIN_MS = 120_000;
const REOPEN_MS = 100;
const PROCESS_DOWN = 'ExchangeProcessDown';
/** A busy machine is a reason for these, too. */
const OF_LOAD = [PROCESS_DOWN, 'ExchangeEventLoopBlocked', 'ExchangeRequestsSlow'];

const alerts = [...readFileSync('deploy/prometheus/alerts.yml', 'utf8').matchAll(/- alert: (\w+)/g)].map(
  ([, name = '']) => name,
);

/** What is wrong with the service whose events are in Postgres. */
const broken = { appends: false, campaigns: false, mails: false };
const replace: Replacements = {
  store: (store) => ({
    ...store,
    append: async (stream, ...more) => {
      if (!broken.appends || !stream.startsWith('advertiser-')) return store.append(stream, ...more);
      await sleep(1_200);
      throw new AppendOutcomeUnknownError('the store does not answer');
    },
  }),
  projection: (projection) =>
    projection.name === 'campaigns'
      ? {
          ...projection,
          apply: async (client, events) => {
            while (broken.campaigns && events.length > 0) await sleep(100);
            await projection.apply(client, events);
          },
        }
      : projection,
  composeMail: async () => {
    throw new Error('no mail');
  },
};

/** A process with few file descriptors, whose Redis is unavailable. It has the roles `api` and `worker`. */
interface Poor {
  readonly program: Program;
  readonly pid: number;
  readonly baseUrl: string;
  readonly operatorUrl: string;
}

const startPoor = async (settings: Readonly<Record<string, string>>): Promise<Poor> => {
  const limited = ['-c', `ulimit -n ${DESCRIPTORS_MAX}; exec "$0" "$@"`, process.execPath];
  const child = spawn('sh', [...limited, shippedProgram('main.js')], {
    env: { PATH: process.env['PATH'], ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const program = following(child);
  const [line] = await program.until(/^.*"listening".*$/m);
  const { baseUrl, operatorUrl } = JSON.parse(line) as Poor;
  return { program, pid: child.pid ?? 0, baseUrl, operatorUrl };
};

let onPostgres: RunningService;
let onEventStore: RunningService;
let stores: TestStores;
let poor: Poor;
let pool: Pool;
let prometheus: Prometheus;
let going = true;
const loads: Promise<void>[] = [];
const sockets = new Set<Socket>();

/** Repeats it until the end of the test, regardless of the answer. */
const repeat = (everyMs: number, what: () => Promise<unknown>): void => {
  const load = async (): Promise<void> => {
    while (going) {
      await what().catch(() => undefined);
      await sleep(everyMs);
    }
  };
  loads.push(load());
};

const createAdvertiser = ({ api }: TestAccount) => api.post('/advertisers', { name: 'Acme' });

const breakPostgresOne = async (account: TestAccount): Promise<void> => {
  const { api, customerId } = account;
  const advertiser = await api.post<{ id: number }>('/advertisers', { name: 'Acme' });
  // ExchangeStreamsParked
  const event = typicalEvent();
  const poison = { ...event, metadata: { ...event.metadata, customerId } };
  await onPostgres.store.append(`advertiser-${customerId}-999`, [poison], 'any');
  // ExchangeReadModelLate, ExchangeReadModelStopped
  broken.campaigns = true;
  const campaign = {
    advertiserId: advertiser.body.data.id,
    name: 'Sale',
    budget: { total: 1, currency: 'USD' },
  };
  expect((await api.post('/campaigns', campaign)).status).toBe(201);
  for (let n = 0; n < 2; n += 1) {
    await onPostgres.store.append('sample-1-lag', Array.from({ length: 600 }, typicalEvent), 'any');
  }
  // ExchangeWorkFails
  const anyone = new Person(onPostgres);
  for (let n = 0; n < 21; n += 1) {
    expect((await anyone.post('/auth/password-reset/request', { email: `${n}@buyer.example` })).status).toBe(
      202,
    );
  }
  // ExchangeJobsGivenUp: an entry that no version writes.
  await onPostgres.pool.query(
    `insert into work_list (kind, customer_id, key, revision, data) values ('mail', $1, $2, '1', '[]')`,
    [customerId, randomUUID()],
  );
  // ExchangeSealsRefused, ExchangeLogNotSealed
  await onPostgres.pool.query('delete from log_checkpoints');
  // ExchangeAttemptsDropped
  for (let n = 0; n < 70; n += 1) expect((await api.post('/advertisers', {})).status).toBe(400);
  // ExchangeRequestsFail, ExchangeRequestsSlow
  broken.appends = true;
  repeat(100, () => createAdvertiser(account));
};

const breakEventStore = async (account: TestAccount): Promise<void> => {
  const { eventStore } = onEventStore;
  // ExchangeEventStoreUnsteady
  repeat(500, async () => eventStore?.command({ command: 'drop-subscriptions', how: 'unavailable' }));
  // ExchangeEventStoreStalls
  const kinds: CallKind[] = ['append', 'batch-append'];
  await eventStore?.command({ command: 'inject', injection: { fault: 'mute', kinds, next: null } });
  for (let n = 0; n < 3; n += 1) repeat(n * 50, () => createAdvertiser(account));
};

/** A connection that sends nothing is soon closed by the service; then another one takes its place. */
const keepOpen = (port: number): void => {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  sockets.add(socket);
  socket.once('close', () => {
    sockets.delete(socket);
    if (going) setTimeout(() => going && keepOpen(port), REOPEN_MS);
  });
};

const breakPoor = async (): Promise<void> => {
  // ExchangeWorkLate, ExchangeLimitsCountedAlone: its Redis is unavailable.
  const anyone = new Person(poor);
  repeat(300, () => anyone.post('/auth/password-reset/request', { email: 'a@buyer.example' }));
  // ExchangeWebhooksLate
  const endpoint = await insertEndpoint(pool, createSecretStore(pool, keys), { url: 'https://a.example' });
  await insertDeliveries(pool, endpoint, 1_001);
  // ExchangeDescriptorsScarce
  const metrics = await (await fetch(`${poor.operatorUrl}/metrics`)).text();
  const open = Number(/^process_open_fds (\d+)$/m.exec(metrics)?.[1]);
  const { port } = new URL(poor.baseUrl);
  for (let n = open; n < DESCRIPTORS_MAX * 0.88; n += 1) keepOpen(Number(port));
  // ExchangeEventLoopBlocked: a processor that is too busy for it.
  repeat(250, async () => {
    process.kill(poor.pid, 'SIGSTOP');
    await sleep(400);
    process.kill(poor.pid, 'SIGCONT');
  });
};

describeWithPromtool('alerts in Prometheus', () => {
  beforeAll(async () => {
    stores = await createTestStores('postgres');
    const settings = {
      ...stores.settings,
      ...generousLimits,
      NODE_ENV: 'test',
      PORT: '0',
      SECRET_KEYS,
      ROLES: 'api,worker',
      LIMIT_NODES: '2',
      REDIS_URL: 'redis://127.0.0.1:1',
    };
    [onPostgres, onEventStore, poor] = await Promise.all([
      startRunningService({ LOG_SEAL_SECONDS: '1' }, createLog('silent'), replace, 'postgres'),
      startRunningService({ LOG_SEAL_SECONDS: '0' }, createLog('silent'), {}, 'eventstoredb'),
      startPoor(settings),
    ]);
    const options = { applicationName: 'test', max: 2, system: true };
    pool = createPool({ connectionString: stores.settings.DATABASE_URL, ...options }, createLog('silent'));
    const operators = [onPostgres, onEventStore, poor].map(({ operatorUrl }) => new URL(operatorUrl).host);
    prometheus = await startPrometheus(operators);
  });
  afterAll(async () => {
    going = false;
    broken.campaigns = false;
    await onEventStore.eventStore?.command({ command: 'clear' });
    await Promise.all(loads);
    for (const socket of sockets) socket.destroy();
    await prometheus.stop();
    await poor.program.end('SIGKILL');
    await pool.end();
    await Promise.all([onPostgres.stop(), onEventStore.stop()]);
    await stores.drop();
  });

  it('none fires at first, and then each does', async () => {
    const accounts = [await onPostgres.openAccount(), await onEventStore.openAccount()] as const;
    await sleep(5_000);
    const first = await prometheus.firing();
    expect(first.filter((alert) => !OF_LOAD.includes(alert))).toEqual([]);

    const startedMs = performance.now();
    const fired = new Map<string, number>();
    const all = async (expected: readonly string[]): Promise<void> => {
      await until(async () => {
        const seconds = Math.round((performance.now() - startedMs) / 1_000);
        for (const alert of await prometheus.firing()) if (!fired.has(alert)) fired.set(alert, seconds);
        await sleep(500);
        return expected.every((alert) => fired.has(alert));
      }, FIRING_WITHIN_MS).catch(() => undefined);
      expect([...fired.keys()].filter((alert) => expected.includes(alert)).toSorted()).toEqual(
        expected.toSorted(),
      );
    };
    await Promise.all([breakPostgresOne(accounts[0]), breakEventStore(accounts[1]), breakPoor()]);
    await all(alerts.filter((alert) => alert !== PROCESS_DOWN));
    await poor.program.end('SIGKILL');
    // On a busy machine the process that is stopped again and again may have answered too late. Now it must fire.
    fired.delete(PROCESS_DOWN);
    await all(alerts);
    console.log([...fired].map(([alert, seconds]) => `${alert} ${seconds} s`).join('\n'));
  }, 300_000);
});
