import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { z } from 'zod';
import { createLog } from '../../app/log.ts';
import { webhookIdOf } from '../../domain/webhooks/resource.ts';
import { webhookSlotsStream } from '../../domain/webhooks/subscription-slots.ts';
import { webhookSubscriptionStream } from '../../domain/webhooks/webhook-subscription.ts';
import { untilDefinite } from '../support/api-client.ts';
import { createFailingAppends, everyAppendOf } from '../support/failing-appends.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

const appends = createFailingAppends();
let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService({}, createLog('silent'), { store: appends.wrap });
});
beforeAll(async () => {
  account = await service.openAccount();
});
afterAll(() => service.stop());

const path = '/webhook-subscriptions';
const body = { url: 'https://hooks.example.com/', eventTypes: ['*'] };
const once = () => ({ 'Idempotency-Key': randomUUID() });
const secretsOf = async (id: string): Promise<number> => {
  const { rows } = await service.pool.query(
    `select from secrets where owner_kind = 'webhook' and owner_id = $1`,
    [webhookIdOf(id)],
  );
  return rows.length;
};
const typesOf = async (id: string): Promise<readonly string[]> =>
  (await service.eventsOf(webhookSubscriptionStream(account.customerId, webhookIdOf(id) ?? ''))).map(
    ({ type }) => type,
  );
const claims = async (): Promise<number> => {
  const events = await service.eventsOf(webhookSlotsStream(account.customerId));
  const claimed = new Map<unknown, boolean>();
  for (const { type, data } of events) claimed.set(data['subscriptionId'], type === 'WebhookSlotClaimed');
  return [...claimed.values()].filter(Boolean).length;
};

interface Answer {
  readonly subscription: { readonly id: string };
  readonly secret: string;
}

it.each(everyAppendOf(2))(
  'a creation cut at append %i, %s it is written, is completed by its repeat: one subscription, secret and slot',
  async (nth, how) => {
    const before = await claims();
    const headers = once();
    appends.failFrom(nth, how);
    expect((await account.api.post(path, body, headers)).status).toBe(503);
    await appends.heal();
    const {
      status,
      body: answer,
      text,
    } = await untilDefinite(() => account.api.post<Answer>(path, body, headers));
    expect(status).toBe(201);
    const { id } = answer.data.subscription;
    expect(await typesOf(id)).toEqual(['WebhookSubscriptionCreated']);
    expect([await secretsOf(id), (await claims()) - before]).toEqual([1, 1]);
    const [event] = await service.eventsOf(
      webhookSubscriptionStream(account.customerId, webhookIdOf(id) ?? ''),
    );
    const kept = await service.installation.secrets.get(
      account.customerId,
      z.string().parse(event?.data['secretId']),
    );
    expect(kept).toBe(answer.data.secret);
    expect((await account.api.post(path, body, headers)).text).toBe(text);
    await account.api.delete(`${path}/${id}`);
  },
);

it.each(everyAppendOf(1))(
  'a rotation cut at append %i, %s it is written, is completed by its repeat, with one new secret',
  async (nth, how) => {
    const { id } = (await account.api.post<Answer>(path, body, once())).body.data.subscription;
    const headers = once();
    const rotate = () => account.api.post<Answer>(`${path}/${id}/rotate-secret`, {}, headers);
    appends.failFrom(nth, how);
    expect((await rotate()).status).toBe(503);
    await appends.heal();
    const first = await untilDefinite(rotate);
    expect([first.status, (await rotate()).text]).toEqual([200, first.text]);
    expect(await typesOf(id)).toEqual(['WebhookSubscriptionCreated', 'WebhookSecretRotated']);
    expect(await secretsOf(id)).toBe(2);
    await account.api.delete(`${path}/${id}`);
  },
);

it.each(everyAppendOf(2))(
  'a deletion cut at append %i, %s it is written, is completed by its repeat: no secret stays',
  async (nth, how) => {
    const { id } = (await account.api.post<Answer>(path, body, once())).body.data.subscription;
    const headers = once();
    appends.failFrom(nth, how);
    await account.api.delete(`${path}/${id}`, headers);
    await appends.heal();
    const { status } = await untilDefinite(() => account.api.delete(`${path}/${id}`, headers));
    expect(status).toBe(200);
    expect((await typesOf(id)).at(-1)).toBe('WebhookSubscriptionDeleted');
    expect(await secretsOf(id)).toBe(0);
  },
);
