import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { comparePositions, type Position } from '../../shared/event-store/event-store.ts';
import { refusalOf, untilDefinite } from '../support/api-client.ts';
import {
  startEventStoreService,
  type EventStoreService,
} from '../support/eventstoredb/event-store-service.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { amount } from '../support/amount.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

/** The service with its events in EventStoreDB, and all other data in Postgres. */

const logged: string[] = [];
const log = pino(
  new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      logged.push(chunk.toString());
      done();
    },
  }),
);

const CREATES = amount(20, 60);
/** The limits are 3 s and 5 s; the rest allows for a busy machine. */
const ANSWER_MS_MAX = 6_000;
const READY_MS_MAX = 10_000;

let eventStore: EventStoreService;
let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  eventStore = await startEventStoreService();
  const url = eventStore.url.replace('esdb://', 'esdb://admin:open-sesame@');
  service = await startRunningService({ EVENTSTORE_URL: url, OUTBOUND_ALLOW_LOOPBACK: 'true' }, log);
  account = await service.openAccount();
});
afterAll(async () => {
  await service.stop();
  await eventStore.close();
});

const create = (name: string, key: string = randomUUID()) =>
  account.api.post<AdvertiserResource>('/advertisers', { name }, { 'Idempotency-Key': key });

const until = async (holds: () => Promise<boolean>, msMax: number): Promise<number> => {
  const startMs = performance.now();
  while (!(await holds())) {
    if (performance.now() - startMs > msMax) throw new Error(`It did not happen within ${msMax} ms.`);
    await sleep(25);
  }
  return performance.now() - startMs;
};
const isReady = async (): Promise<boolean> => (await fetch(`${service.baseUrl}/ready`)).status === 200;

const timed = async <T>(work: Promise<T>): Promise<readonly [T, number]> => {
  const startMs = performance.now();
  const result = await work;
  return [result, performance.now() - startMs];
};

describe('the service on EventStoreDB', () => {
  it('creates, reads, updates and lists, with its events in EventStoreDB only', async () => {
    const { data } = (await create('Nordwind')).body;
    expect((await account.api.get(`/advertisers/${data.id}`)).body.data).toEqual(data);
    const updated = (
      await account.api.put<AdvertiserResource>(`/advertisers/${data.id}`, { name: 'Südwind' })
    ).body.data;
    expect((await account.api.get<AdvertiserResource[]>('/advertisers')).body.data).toEqual([updated]);
    const appends = eventStore.calls.append;
    expect(appends).toBeGreaterThanOrEqual(3);
    const events = await service.eventsOfAccount(account);
    expect(events.filter(({ stream }) => stream.startsWith('advertiser-'))).toHaveLength(2);
    const { rows } = await service.pool.query<{ count: number }>('select count(*)::int as count from events');
    expect(rows).toEqual([{ count: 0 }]);
  });

  it('sends a webhook, and shows an event, only when reads wait for it', async () => {
    const { api, customerId } = await service.openAccount();
    const receiver = await startWebhookReceiver();
    await api.post('/webhook-subscriptions', { url: receiver.url, eventTypes: ['advertiser.*'] });
    type Page = { readonly events: readonly { readonly data: { readonly resourceId: string } }[] };
    const listed = async () => {
      const answer = await api.get<Page>('/events');
      return answer.status === 200 ? answer.body.data.events.length : 0;
    };
    const client = await service.pool.connect();
    // The writer cannot record its position, which it does after the append.
    await client.query('begin');
    await client.query('select from account_positions where customer_id = $1 for update', [customerId]);
    const appends = eventStore.calls.append;
    const written = api.post<AdvertiserResource>('/advertisers', { name: 'Nordwind' });
    try {
      await until(async () => eventStore.calls.append > appends, 5_000);
      await sleep(800);
      expect([receiver.received.length, await listed()]).toEqual([0, 0]);
    } finally {
      await client.query('rollback');
      client.release();
    }
    await until(async () => receiver.received.length > 0, 10_000);
    const body = JSON.parse(String(receiver.received[0]?.body)) as Page['events'][number];
    expect((await api.get(`/advertisers/${body.data.resourceId}`)).status).toBe(200);
    expect(await listed()).toBe(1);
    expect([201, 503]).toContain((await written).status);
    await receiver.stop();
  });

  it(`shows every write to the next read: ${CREATES} creates`, async () => {
    const { api } = await service.openAccount();
    for (let n = 0; n < CREATES; n++) {
      const { data } = (await api.post<AdvertiserResource>('/advertisers', { name: `N ${n}` })).body;
      const [detail, list] = await Promise.all([
        api.get<AdvertiserResource>(`/advertisers/${data.id}`),
        api.get<AdvertiserResource[]>('/advertisers?take=1'),
      ]);
      expect(detail.body.data).toEqual(data);
      expect(list.body.data).toEqual([data]);
      expect(list.body.meta.pagination.total).toBe(n + 1);
    }
  });

  it("stores the position of the account's last event", async () => {
    const { rows } = await service.pool.query<{ position: Position }>(
      'select position from account_positions where customer_id = $1',
      [account.customerId],
    );
    const last = (await service.eventsOfAccount(account)).at(-1);
    expect(rows[0]?.position).toBe(last?.position);
  });

  it('reports its event store, its lag and its metrics', async () => {
    await until(isReady, 30_000);
    const answer = (await (await fetch(`${service.operatorUrl}/ready`)).json()) as {
      parts: { eventStore: unknown; projections: { detail: { projections: { lagBytes: number }[] } } };
    };
    expect(answer.parts.eventStore).toMatchObject({ ready: true, detail: { kind: 'eventstoredb' } });
    expect(answer.parts.projections.detail.projections.every(({ lagBytes }) => lagBytes >= 0)).toBe(true);
    const metrics = await service.metrics();
    for (const name of [
      'exchange_projection_lag_bytes',
      'exchange_eventstoredb_appends_pending',
      'exchange_eventstoredb_clients_replaced_total',
      'exchange_eventstoredb_subscriptions_lost_total',
    ]) {
      expect(metrics).toContain(name);
    }
    expect(metrics).not.toContain('exchange_projection_lag_events');
  });
});

describe('a request whose append has an unknown outcome', () => {
  it('is 503 within 3 s, and has one effect when it is repeated', async () => {
    const key = randomUUID();
    const before = (await service.eventsOfAccount(account)).length;
    eventStore.faults.inject({ fault: 'mute-after-commit', kinds: ['append'] });
    const [first, tookMs] = await timed(create('Unsure', key));
    expect(refusalOf(first)).toEqual([503, 'SERVICE_UNAVAILABLE', undefined]);
    expect(tookMs).toBeLessThan(ANSWER_MS_MAX);
    const second = await untilDefinite(() => create('Unsure', key));
    expect(second.status).toBe(201);
    const third = await create('Unsure', key);
    expect(third.body.data).toEqual(second.body.data);
    expect(await service.eventsOfAccount(account)).toHaveLength(before + 1);
    expect((await account.api.get(`/advertisers/${second.body.data.id}`)).body.data).toEqual(
      second.body.data,
    );
  });

  it('has one effect when the server times out after the commit', async () => {
    const before = (await service.eventsOfAccount(account)).length;
    eventStore.faults.inject({ fault: 'timeout-after-commit', kinds: ['append'] });
    const answer = await create('Late');
    expect(answer.status).toBe(201);
    const events = await service.eventsOfAccount(account);
    expect(events).toHaveLength(before + 1);
    expect(answer.body.data.createdAt).toBe(events.at(-1)?.metadata.occurredAt);
  });

  it("has one effect, visible to reads, when the account's position could not be written", async () => {
    const { data } = (await create('Unmarked')).body;
    const key = randomUUID();
    const update = () =>
      account.api.put<AdvertiserResource>(
        `/advertisers/${data.id}`,
        { name: 'Marked' },
        { 'Idempotency-Key': key },
      );
    const before = (await service.eventsOfAccount(account)).length;
    await service.pool.query('alter table account_positions rename to account_positions_away');
    const unsure = await update();
    await service.pool.query('alter table account_positions_away rename to account_positions');
    expect(unsure.status).toBe(503);
    const again = await untilDefinite(update);
    expect(again.status).toBe(200);
    expect(again.body.data.name).toBe('Marked');
    const events = await service.eventsOfAccount(account);
    expect(events).toHaveLength(before + 1);
    const { rows } = await service.pool.query<{ position: Position }>(
      'select position from account_positions where customer_id = $1',
      [account.customerId],
    );
    expect(comparePositions(rows[0]?.position as Position, events.at(-1)?.position as Position)).toBe(0);
  });
});

describe('while EventStoreDB is unavailable', () => {
  it('writes are 503 within 3 s and reads continue; the service is ready within 5 s of the return', async () => {
    const { data } = (await create('Steady')).body;
    expect((await account.api.get(`/advertisers/${data.id}`)).status).toBe(200);
    const { port, log: events } = eventStore;
    await eventStore.close();
    const unavailableSinceMs = performance.now();
    let writes = 0;
    while (performance.now() - unavailableSinceMs < 6_000) {
      const [write, tookMs] = await timed(create(`Lost ${writes}`));
      expect([write.status, tookMs < ANSWER_MS_MAX]).toEqual([503, true]);
      expect((await account.api.get<AdvertiserResource>(`/advertisers/${data.id}`)).body.data).toEqual(data);
      expect((await account.api.get('/advertisers?take=2')).status).toBe(200);
      writes += 1;
      await sleep(200);
    }
    expect(await isReady()).toBe(false);
    eventStore = await startEventStoreService({ port, log: events });
    const readyMs = await until(isReady, 20_000);
    const key = randomUUID();
    const written = await untilDefinite(() => create('Back', key));
    expect(written.status).toBe(201);
    expect((await account.api.get(`/advertisers/${written.body.data.id}`)).body.data).toEqual(
      written.body.data,
    );
    console.info(
      `EventStoreDB unavailable for 6 s: ${writes} writes refused; ready ${Math.round(readyMs)} ms after its return`,
    );
    expect(readyMs).toBeLessThan(READY_MS_MAX);
  });

  it('never logs the password', () => {
    expect(logged.length).toBeGreaterThan(10);
    expect(logged.filter((line) => line.includes('open-sesame'))).toEqual([]);
  });
});
