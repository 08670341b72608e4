import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { webhookIdOf, type WebhookSubscriptionResource } from '../../domain/webhooks/resource.ts';
import { untilDefinite, type Api } from '../support/api-client.ts';
import { foundIn } from '../support/canary/searched-texts.ts';
import { mailTo } from '../support/outbox-link.ts';
import { signUp } from '../support/person.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { until } from '../support/until.ts';
import {
  startWebhookReceiver,
  type ReceivedWebhook,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts';

/** From the request that changes something to what a real receiver gets. */

interface NewSubscription {
  readonly subscription: WebhookSubscriptionResource;
  readonly secret: string;
}
interface Body {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>> & { readonly url?: string; readonly revision: number };
}

let service: RunningService;
let account: TestAccount;
let log = '';
let receivers: WebhookReceiver[] = [];
beforeAll(async () => {
  service = await startRunningService(
    { OUTBOUND_ALLOW_LOOPBACK: 'true' },
    pino({ level: 'trace' }, { write: (line: string) => void (log += line) }),
  );
  account = await service.openAccount();
});
afterEach(async () => {
  await Promise.all(receivers.map((one) => one.stop()));
  receivers = [];
});
afterAll(() => service.stop());

const receive = async (
  answer?: (webhook: ReceivedWebhook, response: ServerResponse) => void,
): Promise<WebhookReceiver> => {
  const receiver = await startWebhookReceiver(answer);
  receivers.push(receiver);
  return receiver;
};
const path = '/webhook-subscriptions';
type Caller = { readonly api: Pick<Api, 'get' | 'post'> };
const subscribe = async (
  url: string,
  more: object = {},
  { api }: Caller = account,
): Promise<NewSubscription> => {
  const body = { url, eventTypes: ['advertiser.*'], ...more };
  const created = await untilDefinite(() =>
    api.post<NewSubscription>(path, body, { 'Idempotency-Key': randomUUID() }),
  );
  expect([created.status, created.text]).toEqual([201, expect.anything()]);
  return created.body.data;
};
const unsubscribe = ({ subscription: { id } }: NewSubscription) => account.api.delete(`${path}/${id}`);
const createAdvertiser = async (name: string, { api }: Caller = account): Promise<number> =>
  (await api.post<{ id: number }>('/advertisers', { name })).body.data.id;
const statusOf = async ({ subscription: { id } }: NewSubscription, { api }: Caller) => {
  const { status, statusReason } = (await api.get<NewSubscription>(`${path}/${id}`)).body.data.subscription;
  return [status, statusReason];
};
const bodyOf = ({ body }: Pick<ReceivedWebhook, 'body'>): Body => JSON.parse(body.toString()) as Body;
const isVerified = (secret: string, got: ReceivedWebhook | undefined): boolean => {
  try {
    new Webhook(secret).verify(got?.body ?? '', got?.headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
};
const got = async (receiver: WebhookReceiver, count: number): Promise<readonly ReceivedWebhook[]> => {
  await until(async () => receiver.received.length >= count, 30_000);
  return receiver.received;
};

describe('a webhook', () => {
  it('arrives, is verified by the package standardwebhooks, and links to the state of its event', async () => {
    const receiver = await receive();
    const created = await subscribe(receiver.url, { payload: 'full' });
    const { api } = account;
    const id = await createAdvertiser('First name');
    await api.put(`/advertisers/${id}`, { name: 'Second name' });
    await got(receiver, 2);
    const bodies = receiver.received.map(bodyOf).sort((a, b) => a.data.revision - b.data.revision);
    expect(receiver.received.every((one) => isVerified(created.secret, one))).toBe(true);
    expect(bodies.map(({ type }) => type)).toEqual(['advertiser.created', 'advertiser.updated']);
    for (const [n, { data }] of bodies.entries()) {
      const name = ['First name', 'Second name'][n];
      expect(data).toMatchObject({ resourceId: String(id), advertiserId: String(id), object: { id, name } });
      const url = data.url ?? '';
      expect(url).toBe(`${service.baseUrl}/api/v2/buyer/advertisers/${id}?asOf=${n + 1}`);
      const read = await fetch(url, { headers: { Authorization: `Bearer ${account.apiKey}` } });
      expect(((await read.json()) as { data: unknown }).data).toEqual(data['object']);
    }
    await unsubscribe(created);
  });

  it('is signed with both secrets during a rotation, as the package verifies', async () => {
    const receiver = await receive();
    const created = await subscribe(receiver.url, { authentication: 'bearer' });
    const one = `${path}/${created.subscription.id}`;
    const { api } = account;
    const rotate = async (overlapSeconds: number, force: boolean): Promise<string> => {
      const rotated = await api.post<{ secret: string }>(`${one}/rotate-secret`, { overlapSeconds, force });
      expect([rotated.status, rotated.text]).toEqual([200, expect.anything()]);
      return rotated.body.data.secret;
    };
    const verifiedBy = async (count: number, ...secrets: readonly string[]): Promise<readonly boolean[]> => {
      await createAdvertiser(randomUUID());
      const last = (await got(receiver, count)).at(-1);
      return secrets.map((secret) => isVerified(secret, last));
    };
    expect(await verifiedBy(1, created.secret)).toEqual([true]);
    const second = await rotate(600, false);
    expect(await verifiedBy(2, created.secret, second)).toEqual([true, true]);
    expect(receiver.received.at(-1)?.headers.authorization).toBe(`Bearer ${second}`);
    const third = await rotate(0, true);
    expect(await verifiedBy(3, created.secret, second, third)).toEqual([false, false, true]);
    await unsubscribe(created);
  });

  it('that fails is shown with its attempts, and can be sent again', async () => {
    let status = 500;
    const receiver = await receive((_webhook, response) => response.writeHead(status).end('no'));
    const created = await subscribe(receiver.url);
    const deliveries = `${path}/${created.subscription.id}/deliveries`;
    await createAdvertiser('Failing');
    await got(receiver, 1);
    interface ShownSubscription {
      readonly id: string;
      readonly state: string;
    }
    const first = async (): Promise<ShownSubscription | undefined> =>
      (await account.api.get<{ deliveries: readonly ShownSubscription[] }>(deliveries)).body.data
        .deliveries[0];
    await until(async () => receiver.received.length === 2, 30_000);
    const failed = await first();
    expect(failed?.state).toBe('due');
    status = 204;
    expect((await account.api.post(`${deliveries}/${failed?.id}/redeliver`)).status).toBe(202);
    await until(async () => (await first())?.state === 'delivered', 30_000);
    const { text } = await account.api.get(`${deliveries}/${failed?.id}`);
    expect(text).toContain('"no"');
    const ids = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
    expect([...ids]).toEqual([bodyOf(receiver.received[0] ?? { body: Buffer.from('{}') }).id]);
    await unsubscribe(created);
  });

  it('answered with 410 disables the subscription, with a mail to the administrators', async () => {
    const { person, email, customerId } = await signUp(service);
    const buyer = '/api/v2/buyer';
    const other: Caller = {
      api: {
        get: (at) => person.get(buyer + at),
        post: (at, body, headers) => person.post(buyer + at, body, headers),
      },
    };
    const receiver = await receive((_webhook, response) => response.writeHead(410).end());
    const created = await subscribe(receiver.url, {}, other);
    await createAdvertiser('Gone', other);
    await until(async () => (await statusOf(created, other))[0] === 'inactive', 30_000);
    expect(await statusOf(created, other)).toEqual(['inactive', 'gone']);
    const text = await mailTo(service, email, 'A webhook was disabled');
    expect(text).toContain(created.subscription.id);
    expect(text).toContain(new URL(receiver.url).host);
    await createAdvertiser('After it', other);
    const uuid = webhookIdOf(created.subscription.id);
    const events = await service.eventsOf(`webhook-${customerId}-${uuid}`);
    expect(events.map(({ type }) => type)).toEqual([
      'WebhookSubscriptionCreated',
      'WebhookSubscriptionDisabled',
    ]);
    expect(receiver.received.length).toBe(1);
  });

  it('leaves no secret and no query of its URL in the log', async () => {
    const receiver = await receive(({ headers }, response) =>
      response.writeHead(500).end(JSON.stringify(headers)),
    );
    const token = `query-token-${randomUUID()}`;
    const created = await subscribe(`${receiver.url}?token=${token}`, { authentication: 'bearer' });
    await createAdvertiser('Logged');
    await got(receiver, 1);
    await unsubscribe(created);
    expect(foundIn({ log }, [created.secret, token])).toEqual([]);
  });
});
