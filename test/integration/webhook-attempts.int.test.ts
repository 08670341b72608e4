import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { Webhook } from 'standardwebhooks';
import { createLog } from '../../app/log.ts';
import { createDeliveryRows } from '../../command/workers/webhooks/delivery-rows.ts';
import { createBodyOf, type MessageBodyOptions } from '../../command/workers/webhooks/message-body.ts';
import { createInFlight } from '../../command/workers/webhooks/in-flight.ts';
import {
  webhookDeliveries,
  type WebhookDeliveriesOptions,
} from '../../command/workers/webhooks/webhook-deliveries.ts';
import { NotificationBody } from '../../domain/notifications/body.ts';
import { END_NOTICE } from '../../domain/webhooks/endpoint-health.ts';
import { WEBHOOK } from '../../domain/webhooks/work.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { EventStoreUnavailableError } from '../../shared/event-store/event-store.ts';
import { systemClock as clock } from '../../shared/async/clock.ts';
import type { ResolveName } from '../../shared/outbound/resolve-name.ts';
import { createOutboundPosts, type OutboundPosts } from '../../shared/outbound/outbound-posts.ts';
import { createPool } from '../../shared/postgres/pool.ts';
import { parseKeyRing } from '../../shared/secrets/key-ring.ts';
import { createSecretStore, type SecretStore } from '../../shared/secrets/secret-store.ts';
import { createWorkList, type WorkEntry, type WorkList } from '../../shared/work-list/work-list.ts';
import { hostileUrls } from '../support/hostile-urls.ts';
import { freePort } from '../support/free-port.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import {
  insertDeliveries,
  insertEndpoint,
  SECRET,
  type DeliveryRow,
  type EndpointOptions,
  type EndpointRow,
} from '../support/webhook-rows.ts';
import {
  startWebhookReceiver,
  type ReceivedWebhook,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts';
import { workOnce } from '../support/work-once.ts';

let database: TestDatabase;
let pool: Pool;
let secrets: SecretStore;
let list: WorkList;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool(
    { connectionString: database.url, applicationName: 'test', max: 8, system: true, planOnce: true },
    createLog('silent'),
  );
  const keys = parseKeyRing(`test:${'A'.repeat(43)}`);
  secrets = createSecretStore(pool, async () => keys);
  list = createWorkList(pool);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const ATTEMPT_MS = 700;

interface Worker {
  /** One run of each subscription that waits. */
  run(): Promise<void>;
  handle(entry: WorkEntry): Promise<unknown>;
  readonly disabled: { readonly subscriptionId: string; readonly reason: string }[];
  readonly notices: number[];
  readonly posts: OutboundPosts;
}

let workers: Worker[] = [];
let receivers: WebhookReceiver[] = [];
beforeEach(() => pool.query('truncate work_list, webhook_endpoints, webhook_deliveries, webhook_health'));
afterEach(async () => {
  await Promise.all(workers.map(({ posts }) => posts.close()));
  await Promise.all(receivers.map((one) => one.stop()));
  workers = [];
  receivers = [];
});

const openWorker = ({
  allowLoopback = true,
  resolve,
  readResource = async () => undefined,
  ...replaced
}: {
  readonly allowLoopback?: boolean;
  readonly resolve?: ResolveName;
  readonly readResource?: MessageBodyOptions['readResource'];
} & Partial<WebhookDeliveriesOptions> = {}): Worker => {
  const disabled: Worker['disabled'] = [];
  const notices: number[] = [];
  const posts = createOutboundPosts({
    allowLoopback,
    timeoutMs: ATTEMPT_MS,
    bodyMs: 200,
    bytesMax: 16 * 1_024,
    headBytesMax: 1_024,
    connectionsPerReceiver: 4,
    ...(resolve && { resolve }),
  });
  const rows = createDeliveryRows(pool);
  const kind = webhookDeliveries({
    rows,
    secrets,
    posts,
    clock,
    inFlight: createInFlight({ atOnceMax: 64, perAccountMax: 32, probesMax: 16 }),
    bodyOf: createBodyOf({
      baseUrl: () => 'https://api.exchange.example',
      readResource,
      log: createLog('silent'),
    }),
    disable: async ({ subscriptionId }, reason) => {
      disabled.push({ subscriptionId, reason });
      const status = reason === 'gone' ? 'gone' : 'failed';
      await pool.query('update webhook_endpoints set status = $2 where subscription_id = $1', [
        subscriptionId,
        status,
      ]);
      return true;
    },
    notifyAdmins: async (subscription, _endpoint, notice) => {
      const client = await pool.connect();
      try {
        if (await rows.countNotice(client, subscription, notice)) notices.push(notice);
      } finally {
        client.release();
      }
    },
    count: () => undefined,
    lingerMs: 50,
    whenMore: sleep,
    isEnding: () => false,
    prepare: async () => true,
    ...replaced,
  });
  const worker = {
    disabled,
    notices,
    posts,
    handle: (entry: WorkEntry) =>
      kind.handle(entry, { attempt: 1, isLastAttempt: false, signal: new AbortController().signal }),
    run: async () => {
      await pool.query('update work_list set due_at = now(), not_before = now()');
      await workOnce(list, kind);
    },
  };
  workers.push(worker);
  return worker;
};

const receive = async (
  answer?: (webhook: ReceivedWebhook, response: ServerResponse) => void,
): Promise<WebhookReceiver> => {
  const receiver = await startWebhookReceiver(answer);
  receivers.push(receiver);
  return receiver;
};
const answering = (status: number, headers: Record<string, string> = {}, body = '') =>
  receive((_webhook, response) => response.writeHead(status, headers).end(body));

const subscribe = (url: string, options: Partial<EndpointOptions> = {}): Promise<EndpointRow> =>
  insertEndpoint(pool, secrets, { url, ...options });

interface ShownDelivery {
  readonly state: string;
  readonly attempts: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly dueInMs: number;
}

const deliveries = async ({ subscriptionId }: EndpointRow): Promise<readonly ShownDelivery[]> => {
  const { rows } = await pool.query<ShownDelivery>(
    `select state, attempts, last_status as status, last_error as error,
       (extract(epoch from due_at - now()) * 1000)::float8 as "dueInMs"
     from webhook_deliveries where subscription_id = $1 order by created_at, id`,
    [subscriptionId],
  );
  return rows;
};
const statesOf = async (endpoint: EndpointRow): Promise<Readonly<Record<string, number>>> => {
  const counts: Record<string, number> = {};
  for (const { state } of await deliveries(endpoint)) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
};
const attemptsOf = async ({ id }: DeliveryRow) =>
  (
    await pool.query<{ attempt: number; status: number | null; error: string | null; head: string | null }>(
      'select attempt, status, error, response_head as head from webhook_attempts where delivery_id = $1 order by attempt',
      [id],
    )
  ).rows;
const healthOf = async ({ subscriptionId }: EndpointRow) =>
  (
    await pool.query<{ failures: number; isFailing: boolean; isSlow: boolean; pauseMs: number | null }>(
      `select failures, failing_since is not null as "isFailing", slow_until is not null as "isSlow",
         (extract(epoch from slow_until - now()) * 1000)::float8 as "pauseMs"
       from webhook_health where subscription_id = $1`,
      [subscriptionId],
    )
  ).rows[0];
/** All that waits is due, and pauses of slow endpoints are over. */
const skipTime = () =>
  pool.query(
    `with d as (update webhook_deliveries set due_at = now() where state = 'due')
     update webhook_health set slow_until = now() where slow_until is not null`,
  );
const entries = async (): Promise<number> => (await pool.query('select from work_list')).rowCount ?? 0;

describe('a delivery', () => {
  it('is a signed POST that the package standardwebhooks verifies, recorded with its attempt', async () => {
    const receiver = await answering(200, {}, 'thanks');
    const endpoint = await subscribe(`${receiver.url}?token=1`);
    const [row] = await insertDeliveries(pool, endpoint, 1);
    await openWorker().run();

    const [got] = receiver.received;
    expect(receiver.received.length).toBe(1);
    expect(got?.path).toBe('/hook?token=1');
    expect(got?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'buyer-exchange/1',
      'webhook-id': `msg_${row?.messageId}`,
      traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
    });
    expect(got?.headers.authorization).toBeUndefined();
    const body = new Webhook(SECRET).verify(got?.body ?? '', got?.headers as Record<string, string>);
    expect(NotificationBody.parse(body)).toEqual({
      id: `msg_${row?.messageId}`,
      type: 'advertiser.updated',
      timestamp: '2026-03-01T10:00:00.000Z',
      data: {
        resourceType: 'ADVERTISER',
        resourceId: '12345',
        advertiserId: '12345',
        revision: 3,
        changed: ['name'],
        url: 'https://api.exchange.example/api/v2/buyer/advertisers/12345?asOf=3',
      },
    });
    expect(await deliveries(endpoint)).toMatchObject([
      { state: 'delivered', attempts: 1, status: 200, error: null },
    ]);
    expect(row && (await attemptsOf(row))).toEqual([
      { attempt: 1, status: 200, error: null, head: 'thanks' },
    ]);
    expect(await entries()).toBe(0);
  });

  it('is signed with both secrets during a rotation, and with the new one after it', async () => {
    const receiver = await answering(204);
    const previous = 'a secret of plain characters';
    const endpoint = await subscribe(receiver.url, {
      previous: { secret: previous, seconds: 60 },
      authentication: 'bearer',
    });
    const worker = openWorker();
    const verifiedWith = async (): Promise<readonly boolean[]> => {
      await insertDeliveries(pool, endpoint, 1);
      await worker.run();
      const got = receiver.received.at(-1);
      expect(got?.headers.authorization).toBe(`Bearer ${SECRET}`);
      return [new Webhook(SECRET), new Webhook(previous, { format: 'raw' })].map((webhook) => {
        try {
          webhook.verify(got?.body ?? '', got?.headers as Record<string, string>);
          return true;
        } catch {
          return false;
        }
      });
    };
    expect(await verifiedWith()).toEqual([true, true]);
    await pool.query(`update webhook_endpoints set previous_until = now()`);
    expect(await verifiedWith()).toEqual([true, false]);
  });

  it('contains the whole resource on request, if the body stays below 10,000 bytes', async () => {
    const receiver = await answering(204);
    const endpoint = await subscribe(receiver.url, { payload: 'full' });
    const dataWith = async (name: string | undefined): Promise<Record<string, unknown>> => {
      await insertDeliveries(pool, endpoint, 1);
      const readResource = async (): Promise<unknown> => (name === undefined ? undefined : { name });
      await openWorker({ readResource }).run();
      const body = receiver.received.at(-1)?.body ?? Buffer.from('');
      expect(body.length).toBeLessThanOrEqual(10_000);
      return (JSON.parse(body.toString()) as { data: Record<string, unknown> }).data;
    };
    expect(await dataWith('small')).toMatchObject({ object: { name: 'small' }, revision: 3 });
    const large = await dataWith('€'.repeat(3_300));
    expect(large).toMatchObject({ objectOmitted: true, revision: 3 });
    expect(large['object']).toBeUndefined();
    expect(await dataWith(undefined)).toMatchObject({ objectOmitted: true });
  });

  it('is sent without a resource that cannot be read, so it holds back no other', async () => {
    const receiver = await answering(204);
    const endpoint = await subscribe(receiver.url, { payload: 'full' });
    const broken = await insertDeliveries(pool, endpoint, 1);
    await insertDeliveries(pool, endpoint, 1);
    let reads = 0;
    const readResource = async (): Promise<unknown> => {
      if ((reads += 1) === 1) throw new Error('an event of version 2');
      return { name: 'small' };
    };
    await openWorker({ readResource }).run();
    expect(await statesOf(endpoint)).toEqual({ delivered: 2 });
    const data = (id: string | undefined) => {
      const got = receiver.received.find(({ headers }) => headers['webhook-id'] === `msg_${id}`);
      return (JSON.parse(String(got?.body)) as { data: object }).data;
    };
    expect(data(broken[0]?.messageId)).toMatchObject({ objectOmitted: true });
  });

  it('waits while the event store does not answer', async () => {
    const receiver = await answering(204);
    const endpoint = await subscribe(receiver.url, { payload: 'full' });
    await insertDeliveries(pool, endpoint, 1);
    const readResource = async (): Promise<unknown> => {
      throw new EventStoreUnavailableError('no answer');
    };
    await expect(openWorker({ readResource }).run()).rejects.toThrow('no answer');
    expect(await deliveries(endpoint)).toMatchObject([{ state: 'due', attempts: 0 }]);
    expect(receiver.received).toHaveLength(0);
  });

  it('has its response kept as text, without the secret', async () => {
    const receiver = await receive(({ headers }, response) => {
      response.writeHead(400).end(`\0 ${headers.authorization} ${'ü'.repeat(2_000)}`);
    });
    const endpoint = await subscribe(receiver.url, { authentication: 'bearer' });
    const [row] = await insertDeliveries(pool, endpoint, 1);
    await openWorker().run();
    const [attempt] = (row && (await attemptsOf(row))) ?? [];
    expect(attempt?.head).toMatch(/^\uFFFD Bearer \[secret\] ü+$/);
    expect(attempt?.head?.length).toBeLessThan(1_024);
  });
});

describe('the head of a response', () => {
  const headOf = async (secret: string, answer: string | Buffer): Promise<string> => {
    const receiver = await receive((_webhook, response) => response.writeHead(400).end(answer));
    const endpoint = await subscribe(receiver.url, { secret });
    const [row] = await insertDeliveries(pool, endpoint, 1);
    await openWorker().run();
    return ((row && (await attemptsOf(row))) ?? [])[0]?.head ?? '';
  };
  const key = Buffer.from('0123456789?>0123456789?>').toString('base64');

  it.each([
    ['cut within the secret', `${'x'.repeat(1_000)}whsec_${key}`],
    ['with the key alone', `the key is ${key}`],
    ['escaped as JSON does it', JSON.stringify({ got: `whsec_${key}` }).replaceAll('/', String.raw`\/`)],
    ['with entities', `<p>whsec_${key.replaceAll('/', '&#x2F;').replaceAll('+', '&#43;')}</p>`],
    ['as it is in addresses', `?secret=${encodeURIComponent(`whsec_${key}`)}`],
  ])('shows no part of the secret: %s', async (_name, answer) => {
    const head = await headOf(`whsec_${key}`, answer);
    const shown = head.replaceAll(/&#x2F;|%2F|\\\//g, '/').replaceAll(/&#43;|%2B/g, '+');
    for (let n = 0; n + 8 <= key.length; n += 1) expect(shown).not.toContain(key.slice(n, n + 8));
  });

  it('shows what only begins like a secret', async () => {
    expect(await headOf('abcdefghijklmnop', 'ends with abc')).toBe('ends with abc');
  });
});

describe('an attempt that fails', () => {
  it.each([
    [500, 'is repeated'],
    [404, 'is repeated'],
    [302, 'follows no redirect'],
  ])('with status %i %s', async (status) => {
    const target = await answering(204);
    const receiver = await answering(status, { location: target.url });
    const endpoint = await subscribe(receiver.url);
    const [row] = await insertDeliveries(pool, endpoint, 1);
    const worker = openWorker();
    await worker.run();
    expect(await deliveries(endpoint)).toMatchObject([
      { state: 'due', attempts: 1, status, error: 'status' },
    ]);
    const dueInMs = (await deliveries(endpoint))[0]?.dueInMs ?? 0;
    expect(dueInMs).toBeGreaterThan(3_000);
    expect(dueInMs).toBeLessThan(6_000);
    expect(target.received.length).toBe(0);
    expect(await healthOf(endpoint)).toMatchObject({ failures: 1, isFailing: true, isSlow: false });
    for (let n = 0; n < 12; n += 1) {
      await skipTime();
      await worker.run();
    }
    expect(await deliveries(endpoint)).toMatchObject([{ state: 'failed', attempts: 10 }]);
    expect((row && (await attemptsOf(row)))?.map(({ attempt }) => attempt)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ]);
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual(
      Array.from({ length: 10 }, () => `msg_${row?.messageId}`),
    );
  });

  it.each([429, 503])(
    'with status %i waits as long as Retry-After says, and so does the endpoint',
    async (status) => {
      const receiver = await answering(status, { 'retry-after': '7200' });
      const endpoint = await subscribe(receiver.url);
      await insertDeliveries(pool, endpoint, 20);
      const worker = openWorker();
      await worker.run();
      // What was in flight when the first answer came.
      expect(receiver.received.length).toBeLessThanOrEqual(8);
      const tried = (await deliveries(endpoint)).filter(({ attempts }) => attempts === 1);
      expect(tried.length).toBe(receiver.received.length);
      for (const { dueInMs } of tried) expect(dueInMs).toBeGreaterThan(7_000_000);
      expect((await healthOf(endpoint))?.pauseMs).toBeGreaterThan(7_000_000);
      await worker.run();
      expect(receiver.received.length).toBe(tried.length);
    },
  );

  it('stops a slow endpoint until the subscriber changes it: then one delivery is tried at once', async () => {
    const [old, repaired] = [await answering(429, { 'retry-after': '7200' }), await answering(500)];
    const endpoint = await subscribe(old.url);
    await insertDeliveries(pool, endpoint, 20);
    const worker = openWorker();
    await worker.run();
    const change = (url: string) =>
      pool.query('update webhook_endpoints set url = $1, revision = revision + 1, changed_at = now()', [url]);
    await worker.run();
    await change(repaired.url);
    await worker.run();
    expect(repaired.received).toHaveLength(1);
    // Its failure stops the endpoint again.
    await worker.run();
    expect(repaired.received).toHaveLength(1);
    const good = await answering(204);
    await change(good.url);
    await worker.run();
    const waiting = (await statesOf(endpoint))['due'] ?? 0;
    expect(good.received).toHaveLength(20 - waiting);
    expect(waiting).toBeLessThanOrEqual(old.received.length + 1);
    expect(await healthOf(endpoint)).toMatchObject({ isSlow: false });
  });

  it('with status 410 is the last one, and disables the endpoint with a notice', async () => {
    const receiver = await answering(410);
    const endpoint = await subscribe(receiver.url);
    await insertDeliveries(pool, endpoint, 1);
    const worker = openWorker();
    await worker.run();
    expect(await deliveries(endpoint)).toMatchObject([{ state: 'failed', attempts: 1, status: 410 }]);
    expect(worker.disabled).toEqual([{ subscriptionId: endpoint.subscriptionId, reason: 'gone' }]);
    expect(worker.notices).toEqual([END_NOTICE]);
    await insertDeliveries(pool, endpoint, 1);
    await worker.run();
    expect(receiver.received.length).toBe(1);
  });

  it('by a body that never ends, or never comes, counts by its status alone', async () => {
    const endless = await receive((_webhook, response) => {
      response.writeHead(200);
      const more = (): void => {
        if (!response.destroyed) response.write('x'.repeat(10_000), more);
      };
      more();
    });
    const hanging = await receive((_webhook, response) => response.writeHead(200).write('beginning'));
    for (const receiver of [endless, hanging]) {
      const endpoint = await subscribe(receiver.url);
      const [row] = await insertDeliveries(pool, endpoint, 1);
      await openWorker().run();
      expect(await statesOf(endpoint)).toEqual({ delivered: 1 });
      expect((row && (await attemptsOf(row)))?.[0]?.head).toMatch(/^(?:x{1024}|beginning)$/);
    }
  });

  it('shows only a class: timeout, connect, response', async () => {
    const silent = await receive(() => undefined);
    const noHttp = createServer((socket) => {
      socket.on('error', () => undefined).once('data', () => socket.write('SSH-2.0-OpenSSH_9.2\r\n'));
    });
    const noHttpPort = await new Promise<number>((resolve) =>
      noHttp.listen(0, '127.0.0.1', () => resolve((noHttp.address() as { port: number }).port)),
    );
    const closed = await freePort();
    const cases = [
      [silent.url, 'timeout'],
      [`http://127.0.0.1:${closed}/`, 'connect'],
      [`https://127.0.0.1:${new URL(silent.url).port}/`, 'tls'],
      [`http://127.0.0.1:${noHttpPort}/`, 'response'],
    ] as const;
    try {
      for (const [url, error] of cases) {
        const endpoint = await subscribe(url);
        await insertDeliveries(pool, endpoint, 1);
        await openWorker().run();
        expect([error, await deliveries(endpoint)]).toMatchObject([
          error,
          [{ state: 'due', status: null, error }],
        ]);
        expect(await healthOf(endpoint)).toMatchObject({ isSlow: true });
      }
    } finally {
      noHttp.close();
    }
  });

  it('in the last attempt is not the end if a redelivery was requested meanwhile', async () => {
    const receiver = await receive((_webhook, response) => {
      // As the fan-out does it.
      void pool
        .query(
          `update webhook_deliveries set round_began_at = attempts, due_at = clock_timestamp() where attempts = 9`,
        )
        .then(() => response.writeHead(500).end());
    });
    const endpoint = await subscribe(receiver.url);
    await insertDeliveries(pool, endpoint, 1);
    await pool.query('update webhook_deliveries set attempts = 9');
    // Without lingering, a run sends what was due when it began.
    const worker = openWorker({ lingerMs: 0 });
    await worker.run();
    const [afterLast] = await deliveries(endpoint);
    expect(afterLast).toMatchObject({ state: 'due', attempts: 10 });
    expect(afterLast?.dueInMs).toBeLessThanOrEqual(0);
    await worker.run();
    expect(await deliveries(endpoint)).toMatchObject([{ state: 'due', attempts: 11 }]);
  });
});

describe('a slow endpoint', () => {
  it('gets one delivery at a time until one succeeds, with growing pauses', async () => {
    let status = 502;
    const receiver = await receive((_webhook, response) => response.writeHead(status).end());
    const endpoint = await subscribe(receiver.url);
    await insertDeliveries(pool, endpoint, 50);
    const worker = openWorker();
    await worker.run();
    const first = receiver.received.length;
    expect(first).toBeLessThanOrEqual(8);
    const pauses: number[] = [];
    for (let n = 1; n <= 3; n += 1) {
      await skipTime();
      await worker.run();
      expect(receiver.received.length).toBe(first + n);
      pauses.push((await healthOf(endpoint))?.pauseMs ?? 0);
    }
    expect(pauses.map((ms, n) => ms > (pauses[n - 1] ?? 0))).toEqual([true, true, true]);
    status = 204;
    await skipTime();
    await worker.run();
    expect(await statesOf(endpoint)).toEqual({ delivered: 50 });
    expect(await healthOf(endpoint)).toMatchObject({ failures: 0, isFailing: false, isSlow: false });
  });
});

describe('the health of an endpoint', () => {
  const failingSince = (hours: number) =>
    pool.query('update webhook_health set failing_since = now() - make_interval(hours => $1)', [hours]);

  it('leads to notices after 24 h and 72 h, and to its end after five days, each once', async () => {
    const receiver = await answering(500);
    const endpoint = await subscribe(receiver.url);
    const worker = openWorker();
    await insertDeliveries(pool, endpoint, 1);
    await worker.run();
    expect(worker.notices).toEqual([]);
    const { rows } = await pool.query<{ hours: number }>(
      `select extract(epoch from due_at - now()) / 3600 as hours from work_list`,
    );
    // The next attempt, which is earlier than the first notice.
    expect(Number(rows[0]?.hours)).toBeLessThan(1);
    for (const hours of [25, 26, 73, 119]) {
      await failingSince(hours);
      await worker.run();
    }
    expect(worker.notices).toEqual([1, 2]);
    expect(worker.disabled).toEqual([]);
    await failingSince(121);
    await worker.run();
    expect(worker.disabled).toEqual([{ subscriptionId: endpoint.subscriptionId, reason: 'failing' }]);
    expect(worker.notices).toEqual([1, 2, END_NOTICE]);
    expect(await healthOf(endpoint)).toMatchObject({ isFailing: false });
    expect(receiver.received.length).toBe(1);
  });

  it('is at its end when a delivery fails for the last time and nothing succeeded since its first attempt', async () => {
    const receiver = await receive(({ body }, response) =>
      response.writeHead(body.includes('"revision":3') ? 500 : 204).end(),
    );
    const worker = openWorker();
    const [hopeless, healthy] = [await subscribe(receiver.url), await subscribe(receiver.url)];
    for (const endpoint of [hopeless, healthy]) await insertDeliveries(pool, endpoint, 1);
    await worker.run();
    await pool.query('update webhook_deliveries set attempts = 9');
    await pool.query(`update webhook_health set last_success_at = now() where subscription_id = $1`, [
      healthy.subscriptionId,
    ]);
    await skipTime();
    await worker.run();
    expect(await statesOf(hopeless)).toEqual({ failed: 1 });
    expect(await statesOf(healthy)).toEqual({ failed: 1 });
    expect(worker.disabled).toEqual([{ subscriptionId: hopeless.subscriptionId, reason: 'failing' }]);
  });

  it('sends the notice of the end after a crash between the event and its mail', async () => {
    const receiver = await answering(500);
    const endpoint = await subscribe(receiver.url);
    await insertDeliveries(pool, endpoint, 1);
    const worker = openWorker();
    await worker.run();
    await pool.query(`update webhook_endpoints set status = 'failed'`);
    await worker.run();
    expect(worker.notices).toEqual([END_NOTICE]);
    expect(await entries()).toBe(0);
  });
});

describe('an endpoint that is not active', () => {
  it.each(['paused', 'suspended', 'deleted', 'gone', 'failed'])(
    'because it is %s gets nothing',
    async (status) => {
      const receiver = await answering(204);
      const endpoint = await subscribe(receiver.url, { status });
      await insertDeliveries(pool, endpoint, 3);
      await openWorker().run();
      expect(receiver.received.length).toBe(0);
      expect(await statesOf(endpoint)).toEqual({ due: 3 });
    },
  );

  it('that is paused during a run gets only what was in flight', async () => {
    let isPaused = false;
    const receiver = await receive((_webhook, response) => {
      const pause = pool.query(`update webhook_endpoints set status = 'paused', revision = 2`);
      void pause.then(() => {
        isPaused = true;
        response.writeHead(204).end();
      });
    });
    const endpoint = await subscribe(receiver.url);
    await insertDeliveries(pool, endpoint, 300);
    await openWorker().run();
    expect(isPaused).toBe(true);
    // Claims of 64; at most two were made before the pause.
    expect(receiver.received.length).toBeLessThanOrEqual(128 + 64);
    expect((await statesOf(endpoint))['due']).toBeGreaterThan(100);
  });
});

describe('addresses', () => {
  it(`are checked at each attempt, ${hostileUrls(0).length} forms`, async () => {
    const canary = await answering(204);
    const port = Number(new URL(canary.url).port);
    const forms = hostileUrls(port).filter((form) => URL.canParse(form));
    const worker = openWorker({ allowLoopback: false });
    const endpoints: EndpointRow[] = [];
    // A URL that was allowed when it was registered, and an operator who changed the setting since.
    for (const [n, form] of forms.entries()) {
      const endpoint = await subscribe(form, { customerId: 1_000 + Math.floor(n / 50) });
      await insertDeliveries(pool, endpoint, 1);
      endpoints.push(endpoint);
    }
    const offered = await list.offer(WEBHOOK, { countMax: forms.length, perAccountMax: 50 });
    await Promise.all(offered.map((entry) => worker.handle(entry)));
    expect(canary.received.length).toBe(0);
    for (const [n, endpoint] of endpoints.entries()) {
      const [shown] = await deliveries(endpoint);
      expect([forms[n], shown]).toMatchObject([
        forms[n],
        { state: 'due', attempts: 1, error: 'refused-address' },
      ]);
    }
  });

  it('of names that turn to loopback are not reached, at the first and at later attempts', async () => {
    const canary = await answering(204);
    let lookUps = 0;
    const resolve: ResolveName = (_name, onAnswer) => {
      lookUps += 1;
      const address = lookUps % 2 === 0 ? '127.0.0.1' : '169.254.169.254';
      onAnswer(null, [{ address, family: 4 }]);
    };
    const worker = openWorker({ allowLoopback: true, resolve });
    const endpoint = await subscribe('https://hooks.example.com/hook');
    await insertDeliveries(pool, endpoint, 1);
    for (let n = 0; n < 3; n += 1) {
      await worker.run();
      await skipTime();
    }
    expect(lookUps).toBe(3);
    expect(canary.received.length).toBe(0);
    expect(await deliveries(endpoint)).toMatchObject([{ attempts: 3, error: 'connect' }]);
  });
});

describe('many deliveries', () => {
  it('use few connections, at most four at once for an endpoint', async () => {
    const receiver = await answering(204);
    const endpoint = await subscribe(receiver.url);
    await insertDeliveries(pool, endpoint, 200);
    const worker = openWorker();
    // On a busy machine one run may not be enough.
    for (let n = 0; n < 5; n += 1) await worker.run();
    expect(await statesOf(endpoint)).toEqual({ delivered: 200 });
    expect(receiver.openMax()).toBeLessThanOrEqual(4);
    expect(new Set(receiver.received.map(({ remotePort }) => remotePort)).size).toBeLessThanOrEqual(4);
  });

  it('are each sent once by two workers that run the same subscription at once', async () => {
    const receiver = await answering(204);
    const endpoint = await subscribe(receiver.url);
    const rows = await insertDeliveries(pool, endpoint, 100);
    // Not through the list, which offers it once.
    const offered = await list.offer(WEBHOOK, { countMax: 1, perAccountMax: 1 });
    await Promise.all([openWorker(), openWorker()].map((worker) => worker.handle(offered[0] as WorkEntry)));
    expect(await statesOf(endpoint)).toEqual({ delivered: 100 });
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(ids.length).toBe(100);
    expect(new Set(ids)).toEqual(new Set(rows.map(({ messageId }) => `msg_${messageId}`)));
  });

  it('without their messages, which are too old, are canceled', async () => {
    const receiver = await answering(204);
    const endpoint = await subscribe(receiver.url);
    const [row] = await insertDeliveries(pool, endpoint, 3);
    await pool.query('delete from webhook_messages where id = $1', [row?.messageId]);
    await openWorker().run();
    expect(await statesOf(endpoint)).toEqual({ delivered: 2, canceled: 1 });
  });

  it('wait while the endpoints are read from the log again', async () => {
    const receiver = await answering(204);
    const endpoint = await subscribe(receiver.url);
    await insertDeliveries(pool, endpoint, 1);
    await openWorker({ prepare: async () => false }).run();
    expect(receiver.received.length).toBe(0);
    await openWorker().run();
    expect(receiver.received.length).toBe(1);
  });
});
