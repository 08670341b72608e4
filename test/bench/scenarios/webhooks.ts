import { Pool as HttpPool } from 'undici';
import { createLog } from '../../../app/log.ts';
import { sleep } from '../../../shared/async/backoff.ts';
import { createPool } from '../../../shared/postgres/pool.ts';
import { parseKeyRing } from '../../../shared/secrets/key-ring.ts';
import { createSecretStore } from '../../../shared/secrets/secret-store.ts';
import { apiOf } from '../../support/api-client.ts';
import { sampleKeys } from '../../support/sample-mails.ts';
import { until } from '../../support/until.ts';
import { insertDeliveries, insertEndpoint } from '../../support/webhook-rows.ts';
import { startChildServer, type ChildServer } from '../child-server.ts';
import { alternateAmong, lineOf, quantile, type Line } from '../measure.ts';
import { createAccount, startService } from '../service-process.ts';
import { startOwnService } from '../stage.ts';
import { steadyRate } from '../steady-rate.ts';
import { authorized } from './advertiser-requests.ts';
import type { Bench, Scenario } from './scenario.ts';

/** As in a worker process: four requests in flight for each of sixteen endpoints, of four accounts. */
const ACCOUNTS = 4;
const ENDPOINTS = 16;
const IN_FLIGHT = 4;
const SETTINGS = { NODE_ENV: 'test', OUTBOUND_ALLOW_LOOPBACK: 'true', SECRET_KEYS: sampleKeys };

interface Arrival {
  readonly atMs: number;
  readonly event?: string;
}

const openReceiver = async (bench: Bench): Promise<ChildServer> => {
  const receiver = await startChildServer('bare-webhook-receiver.js', {});
  bench.atEnd(() => receiver.stop());
  return receiver;
};

/** The requests of a group of paths since the last call. */
const arrivalsAt = async ({ port }: ChildServer, group: string): Promise<readonly Arrival[]> =>
  (await (await fetch(`http://127.0.0.1:${port}/arrivals/${group}`)).json()) as readonly Arrival[];

/** Deliveries that wait, until all are sent: claims, signatures and outcomes, against bare loops over undici. */
export const webhookDeliveries: Scenario = async (bench) => {
  const { url } = await bench.createDatabase();
  const environment = { DATABASE_URL: url, ...SETTINGS };
  const [projector, receiver] = await Promise.all([
    startService({ ...environment, ROLES: 'api,projector' }),
    openReceiver(bench),
  ]);
  bench.atEnd(() => projector.kill());
  const worker = await startService({ ...environment, ROLES: 'worker' });
  bench.atEnd(() => worker.kill());
  const target = `http://127.0.0.1:${receiver.port}`;
  const bare = await startChildServer('bare-webhooks.js', {
    RECEIVER: target,
    ENDPOINTS: String(ENDPOINTS),
    IN_FLIGHT: String(IN_FLIGHT),
  });
  bench.atEnd(() => bare.stop());
  const pool = createPool(
    { connectionString: url, applicationName: 'bench', max: 4, system: true },
    createLog('silent'),
  );
  bench.atEnd(() => pool.end());
  const secrets = createSecretStore(pool, async () => parseKeyRing(sampleKeys));
  const endpoints = await Promise.all(
    Array.from({ length: ENDPOINTS }, (_, n) =>
      insertEndpoint(pool, secrets, { url: `${target}/ours/all/${n}`, customerId: 1_000 + (n % ACCOUNTS) }),
    ),
  );
  const each = bench.quick ? 100 : 2_000;
  const count = each * ENDPOINTS;
  // All wait before the first is sent, as all bodies of the bare loop exist before.
  const ours = async (): Promise<number> => {
    process.kill(worker.pid, 'SIGSTOP');
    try {
      for (const endpoint of endpoints) await insertDeliveries(pool, endpoint, each);
    } finally {
      process.kill(worker.pid, 'SIGCONT');
    }
    await until(async () => {
      await sleep(250);
      const { rowCount } = await pool.query(`select from work_list where kind = 'webhook' limit 1`);
      return rowCount === 0;
    }, 120_000);
    return rateOf(await arrivalsAt(receiver, 'ours/all'), count);
  };
  const loop = (kind: 'repeated' | 'signed') => async (): Promise<number> => {
    await (await fetch(`http://127.0.0.1:${bare.port}/${kind}/${count}`)).text();
    return rateOf(await arrivalsAt(receiver, 'bare/all'), count);
  };
  const measured = await alternateAmong(
    bench.rounds,
    [ours],
    [loop('repeated'), loop('signed')],
    bench.warmUpRounds,
  );
  const name = `webhooks, ${ENDPOINTS} endpoints, ${ENDPOINTS * IN_FLIGHT} in flight`;
  const rate = (nth: number, baselineName: string, goal?: number): Line =>
    lineOf({ name, unit: '/s', ...measured(0, nth), baselineName, ...(goal !== undefined && { goal }) });
  return [
    rate(0, 'a loop over undici that repeats one request', 0.7),
    rate(1, 'a loop over undici that makes and signs each request'),
    ...(await latencies(bench, receiver)),
  ];
};

const rateOf = (arrivals: readonly Arrival[], count: number): number => {
  if (arrivals.length < count) throw new Error(`${arrivals.length} of ${count} webhooks arrived`);
  return steadyRate(arrivals.map(({ atMs }) => atMs));
};

const WRITES_PER_SECOND = 100;
const SECONDS_MIN = 5;
const LATE_MS_MAX = 60_000;

interface Writer {
  readonly customerId: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly group: string;
}

/** Endpoints that hang, answer late, and fail. */
const POISON = ['hang', 'slow', 'fail'];
/** As many that answer at once: their deliveries need the processors as well, and only the rest is the poison's. */
const HEALTHY = POISON.map((_, n) => `healthy/${n}`);

/**
 * From the 2xx of a write to the first byte at the receiver: of an account with one endpoint, and while its other
 * endpoints do what `POISON` says or are as many `HEALTHY` ones.
 */
const latencies = async (bench: Bench, receiver: ChildServer): Promise<readonly Line[]> => {
  const own = await startOwnService(bench, SETTINGS);
  const environment = { DATABASE_URL: own.databaseUrl, ...SETTINGS };
  const base = `http://127.0.0.1:${own.service.port}`;
  const open = async (account: { customerId: number; apiKey: string }, group: string): Promise<Writer> => {
    const headers = authorized(account);
    const url = `http://127.0.0.1:${receiver.port}/latency/${group}`;
    await subscribe(headers, url, true);
    return { customerId: account.customerId, headers, group };
  };
  const subscribe = async (headers: Writer['headers'], url: string, isActive: boolean): Promise<string> => {
    const api = apiOf(base, headers);
    const body = { url, eventTypes: ['advertiser.*'] };
    const created = await api.post<{ subscription: { id: string } }>('/webhook-subscriptions', body);
    if (created.status !== 201) throw new Error(`no subscription: ${created.text}`);
    const { id } = created.body.data.subscription;
    if (!isActive) await api.put(`/webhook-subscriptions/${id}`, { status: 'inactive' });
    return id;
  };
  const one = await open(own, 'one');
  const other = await open(await createAccount(environment), 'other');
  // They belong to the first account: they must hold back neither its other endpoint nor another account's.
  const inactive = (paths: readonly string[]): Promise<readonly string[]> =>
    Promise.all(
      paths.map((path) => subscribe(one.headers, `http://127.0.0.1:${receiver.port}/${path}`, false)),
    );
  const poison = await inactive(POISON);
  const healthy = await inactive(HEALTHY);
  const http = new HttpPool(base, { connections: 32 });
  bench.atEnd(() => http.close());
  const seconds = Math.max(bench.quick ? 1 : SECONDS_MIN, Math.ceil(bench.seconds));
  const set = async (ids: readonly string[], status: 'active' | 'inactive'): Promise<void> => {
    for (const id of ids) await apiOf(base, one.headers).put(`/webhook-subscriptions/${id}`, { status });
  };
  const beside = (ids: readonly string[]) => async (): Promise<Delays> => {
    await set(ids, 'active');
    const delays = delaysOf(await writeAndReceive(http, receiver, [one, other], seconds));
    await set(ids, 'inactive');
    return delays;
  };
  const measured = await alternateAmong(bench.rounds, [beside(poison)], [beside(healthy), beside([])]);
  const name = `webhook, from the 2xx to its first byte, ${WRITES_PER_SECOND} writes/s`;
  const line = (share: 'p50' | 'p99', goalMs: number): Line =>
    lineOf({
      name: `${name}, ${share}`,
      unit: 'ms',
      ours: measured(0, 1).baseline.map((delays) => delays[share]),
      goal: goalMs,
      atMost: true,
    });
  const poisoned = (share: 'p50' | 'p99', goal: number): Line =>
    lineOf({
      name: `${name}, ${share}, while three others hang, are slow and fail`,
      unit: 'ms',
      ours: measured(0, 0).ours.map((delays) => delays[share]),
      baseline: measured(0, 0).baseline.map((delays) => delays[share]),
      baselineName: 'while the three answer',
      goal,
      atMost: true,
    });
  return [line('p50', 150), line('p99', 600), poisoned('p50', 1.2), poisoned('p99', 2)];
};

interface Delays {
  readonly p50: number;
  readonly p99: number;
}

const delaysOf = (delays: readonly number[]): Delays => ({
  p50: quantile(delays, 0.5),
  p99: quantile(delays, 0.99),
});

const now = (): number => performance.timeOrigin + performance.now();

/** Writes at a steady rate, alternately by each account. @returns delays, ms */
const writeAndReceive = async (
  http: HttpPool,
  receiver: ChildServer,
  writers: readonly Writer[],
  seconds: number,
): Promise<readonly number[]> => {
  for (const { group } of writers) await arrivalsAt(receiver, `latency/${group}`);
  const answered = new Map<string, number>();
  const write = async ({ headers }: Writer): Promise<void> => {
    const body = JSON.stringify({ name: 'Bench' });
    const answer = await http.request({
      method: 'POST',
      path: '/api/v2/buyer/advertisers',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    const atMs = now();
    const { data } = (await answer.body.json()) as { data: { id: number } | null };
    if (data === null) throw new Error(`a write was refused: ${answer.statusCode}`);
    answered.set(`${data.id}:1`, atMs);
  };
  const writes: Promise<void>[] = [];
  const startedAt = performance.now();
  const count = WRITES_PER_SECOND * seconds;
  for (let n = 0; n < count; n += 1) {
    const waitMs = startedAt + (n * 1_000) / WRITES_PER_SECOND - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    const writer = writers[n % writers.length];
    if (writer !== undefined) writes.push(write(writer));
  }
  await Promise.all(writes);
  const arrived: Arrival[] = [];
  await until(async () => {
    for (const { group } of writers) arrived.push(...(await arrivalsAt(receiver, `latency/${group}`)));
    return new Set(arrived.map(({ event }) => event)).size >= count;
  }, LATE_MS_MAX);
  return arrived.map(({ event = '', atMs }) => atMs - (answered.get(event) ?? Number.NaN));
};
