import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { findSecretsInUse } from '../../app/lookups/secrets-in-use.ts';
import { createLog } from '../../app/log.ts';
import { createOrphanSecrets } from '../../command/secrets/orphan-secrets.ts';
import { disableSubscription } from '../../command/webhooks/commands.ts';
import { shownDeliveryId, type WebhookDelivery } from '../../domain/webhooks/delivery-resource.ts';
import { webhookIdOf, type WebhookSubscriptionResource } from '../../domain/webhooks/resource.ts';
import { webhookSlotsStream } from '../../domain/webhooks/subscription-slots.ts';
import { webhookSubscriptionStream } from '../../domain/webhooks/webhook-subscription.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { fingerprintOf } from '../../shared/idempotency/request-fingerprint.ts';
import {
  apiOf,
  conflict,
  invalid,
  notFound,
  refusalOf,
  untilDefinite,
  type Api,
} from '../support/api-client.ts';
import { freePort } from '../support/free-port.ts';
import { hostileUrls } from '../support/hostile-urls.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { until } from '../support/until.ts';
import { noSnapshots } from '../support/two-processes.ts';

interface CreatedAnswer {
  readonly subscription: WebhookSubscriptionResource;
  readonly secret?: string;
}
interface RotatedAnswer {
  readonly id: string;
  readonly secret?: string;
  readonly previousSecretUntil: string;
}

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
});
afterAll(() => service.stop());

const path = '/webhook-subscriptions';
const SECRET = 'a-signing-secret-nobody-may-see-4711';
const body = { url: 'https://hooks.example.com/in', eventTypes: ['creative.*', 'campaign.created'] };

const create = (
  api: Api,
  more: object = {},
  headers: Readonly<Record<string, string>> = { 'Idempotency-Key': randomUUID() },
) => untilDefinite(() => api.post<CreatedAnswer>(path, { ...body, ...more }, headers));
const created = async (api: Api, more: object = {}): Promise<WebhookSubscriptionResource> => {
  const answer = await create(api, more);
  expect([answer.status, answer.text]).toEqual([201, expect.anything()]);
  return answer.body.data.subscription;
};
const read = async (api: Api, id: string): Promise<WebhookSubscriptionResource> =>
  (await api.get<CreatedAnswer>(`${path}/${id}`)).body.data.subscription;
const listed = async (api: Api, query = ''): Promise<readonly WebhookSubscriptionResource[]> =>
  (await api.get<{ subscriptions: WebhookSubscriptionResource[] }>(path + query)).body.data.subscriptions;
const uuidOf = (shownId: string): string => webhookIdOf(shownId) ?? '';
const eventsOf = (shownId: string, { customerId } = account) =>
  service.eventsOf(webhookSubscriptionStream(customerId, uuidOf(shownId)));
const disable = (id: string, reason: 'gone' | 'failing', { customerId } = account) =>
  disableSubscription(
    { store: service.store, clock: systemClock },
    {
      customerId,
      subscriptionId: uuidOf(id),
      reason,
      message: 'The endpoint answered 410.',
      attemptAt: new Date().toISOString(),
    },
  );

describe('a webhook subscription', () => {
  it('is created with defaults and a new secret, read, listed and deleted', async () => {
    const { api } = await service.openAccount();
    const answer = await create(api);
    expect([answer.status, answer.body.data]).toEqual([
      201,
      {
        subscription: {
          id: expect.stringMatching(/^whs_[0-9a-f]{32}$/),
          url: body.url,
          eventTypes: body.eventTypes,
          payload: 'thin',
          authentication: 'none',
          status: 'active',
          failureCount: 0,
          createdAt: expect.any(String),
          updatedAt: expect.any(String),
        },
        secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      },
    ]);
    const { subscription } = answer.body.data;
    const { id } = subscription;
    expect(await read(api, id)).toEqual(subscription);
    const newer = await created(api, { description: 'Newer' });
    expect(await listed(api)).toEqual([newer, subscription]);
    const gone = await api.delete(`${path}/${id}`);
    expect([gone.status, gone.body.data]).toEqual([200, { success: true, id }]);
    expect(await listed(api)).toEqual([newer]);
    for (const missing of [
      await api.get(`${path}/${id}`),
      await api.delete(`${path}/${id}`),
      await api.put(`${path}/${id}`, {}),
    ]) {
      expect(refusalOf(missing)).toEqual(notFound());
    }
  });

  it('takes a secret and all options, and shows a given secret to no one', async () => {
    const advertiser = await account.api.post<{ id: number }>('/advertisers', { name: 'Hooks' });
    const options = {
      eventTypes: ['*'],
      advertiserIds: [advertiser.body.data.id],
      payload: 'full',
      authentication: 'bearer',
      description: 'Reports',
    };
    const answer = await create(account.api, { ...options, secret: SECRET });
    expect(answer.body.data).toEqual({ subscription: expect.objectContaining(options) });
    expect(answer.text).not.toContain(SECRET);
    await account.api.delete(`${path}/${answer.body.data.subscription.id}`);
  });

  it('reports the health that workers have recorded', async () => {
    const { id } = await created(account.api);
    await service.pool.query(
      `insert into webhook_health (customer_id, subscription_id, failures, last_success_at, last_failure_at)
       values ($1, $2, 3, '2026-03-01T10:00:00Z', '2026-03-02T10:00:00Z')`,
      [account.customerId, uuidOf(id)],
    );
    const health = {
      failureCount: 3,
      lastSuccess: '2026-03-01T10:00:00.000Z',
      lastFailure: '2026-03-02T10:00:00.000Z',
    };
    expect(await read(account.api, id)).toMatchObject(health);
    expect((await listed(account.api)).find((one) => one.id === id)).toMatchObject(health);
    const changed = await account.api.put<CreatedAnswer>(`${path}/${id}`, { description: 'Ours' });
    expect(changed.body.data.subscription).toMatchObject({ ...health, description: 'Ours' });
    await account.api.delete(`${path}/${id}`);
  });

  it.each([
    ['url', { url: 'http://hooks.example.com/in' }],
    ['url', { url: 'https://hooks.example.com:8443/in' }],
    ['url', { url: 'https://10.0.0.1/' }],
    ['url', { url: `https://hooks.example.com/${'x'.repeat(2_048)}` }],
    ['url', { url: undefined }],
    ['eventTypes', { eventTypes: [] }],
    ['eventTypes', { eventTypes: undefined }],
    ['eventTypes.0', { eventTypes: ['creative.painted'] }],
    ['eventTypes.1', { eventTypes: ['creative.*', 'access.changed'] }],
    ['eventTypes.0', { eventTypes: ['creative*'] }],
    ['secret', { secret: 'only-15-letters' }],
    ['secret', { secret: 'x'.repeat(257) }],
    ['secret', { secret: 'a secret with spaces in it' }],
    ['secret', { secret: 'ein-Geheimnis-mit-Ümlaut' }],
    ['secret', { secret: 'whsec_no-base64-at-all!!!!' }],
    ['secret', { secret: 'whsec_c2hvcnQga2V5' }],
    ['advertiserIds', { advertiserIds: [] }],
    ['advertiserIds.0', { advertiserIds: ['1'] }],
    ['payload', { payload: 'fat' }],
    ['authentication', { authentication: 'basic' }],
    ['description', { description: 'x'.repeat(501) }],
  ])('refuses an invalid %s with 400: %j', async (field, more) => {
    const answer = await account.api.post(path, { ...body, ...more });
    expect(refusalOf(answer)).toEqual(invalid(field));
    const { secret } = more as { secret?: string };
    if (secret !== undefined) expect(answer.text).not.toContain(secret);
  });

  it.each([
    ['url', { url: 'https://127.0.0.1/' }],
    ['url', { url: null }],
    ['eventTypes', { eventTypes: null }],
    ['eventTypes.0', { eventTypes: ['x'] }],
    ['status', { status: 'failed' }],
    ['status', { status: 'paused' }],
    ['payload', { payload: '' }],
  ])('refuses an update with an invalid %s with 400: %j', async (field, more) => {
    expect(refusalOf(await account.api.put(`${path}/whs_${'0'.repeat(32)}`, more))).toEqual(invalid(field));
  });

  it('knows only advertisers of the account', async () => {
    const other = await service.openAccount();
    const theirs = await other.api.post<{ id: number }>('/advertisers', { name: 'Theirs' });
    const unknown = await account.api.post(path, { ...body, advertiserIds: [2_000_000_000] });
    const foreign = await account.api.post(path, { ...body, advertiserIds: [theirs.body.data.id] });
    expect(refusalOf(unknown)).toEqual([404, 'NOT_FOUND', 'advertiserIds']);
    expect(foreign.body.error).toEqual(unknown.body.error);
    const { id } = await created(account.api);
    const update = await account.api.put(`${path}/${id}`, { advertiserIds: [theirs.body.data.id] });
    expect(update.body.error).toEqual(unknown.body.error);
    await account.api.delete(`${path}/${id}`);
  });

  it('does not accept an address of the service itself', async () => {
    const port = await freePort();
    const named = await startRunningService({
      PORT: String(port),
      BASE_URL: 'https://api.exchange.example',
      OUTBOUND_ALLOW_LOOPBACK: 'true',
    });
    const { apiKey } = await named.openAccount();
    const api = apiOf(`http://127.0.0.1:${port}`, { Authorization: `Bearer ${apiKey}` });
    for (const url of [
      'https://api.exchange.example/api/v2/buyer/events',
      'https://API.exchange.example./',
    ]) {
      expect(refusalOf(await api.post(path, { ...body, url }))).toEqual(invalid('url'));
    }
    expect((await create(api, { url: 'https://exchange.example/' })).status).toBe(201);
    expect((await create(api, { url: 'http://127.0.0.1:4000/in' })).status).toBe(201);
    await named.stop();
  }, 60_000);

  it('does not accept an address that is not on the public internet, in any form', async () => {
    const { api } = await service.openAccount();
    const accepted: unknown[] = [];
    for (const url of hostileUrls(service.port)) {
      const answer = await api.post(path, { ...body, url });
      if (String(refusalOf(answer)) !== String(invalid('url'))) accepted.push([url, answer.text]);
    }
    expect(accepted).toEqual([]);
    expect(await listed(api)).toEqual([]);
  }, 60_000);
});

describe('an update', () => {
  it('changes what it names, and null clears a member', async () => {
    const { id } = await created(account.api, { description: 'First' });
    const change = { url: 'https://other.example.com/', eventTypes: ['task.*'], payload: 'full' };
    const changed = await account.api.put<CreatedAnswer>(`${path}/${id}`, { ...change, description: null });
    const { subscription } = changed.body.data;
    expect(subscription).toMatchObject(change);
    expect(subscription).not.toHaveProperty('description');
    expect(await read(account.api, id)).toEqual(subscription);
    await account.api.put(`${path}/${id}`, change);
    expect(await eventsOf(id)).toHaveLength(2);
    await account.api.delete(`${path}/${id}`);
  });

  it('pauses and enables again, also after the service has disabled the subscription', async () => {
    const { id } = await created(account.api);
    const set = (status: string) => account.api.put<CreatedAnswer>(`${path}/${id}`, { status });
    expect((await set('inactive')).body.data.subscription).toMatchObject({
      status: 'inactive',
      statusReason: 'paused',
      statusMessage: expect.any(String),
    });
    expect((await set('active')).body.data.subscription).not.toHaveProperty('statusReason');
    await disable(id, 'gone');
    expect(await read(account.api, id)).toMatchObject({ status: 'inactive', statusReason: 'gone' });
    expect((await set('active')).body.data.subscription.status).toBe('active');
    await disable(id, 'failing');
    expect(await read(account.api, id)).toMatchObject({ status: 'failed', statusReason: 'failing' });
    expect(refusalOf(await set('inactive'))).toEqual(conflict('status'));
    expect((await set('active')).body.data.subscription.status).toBe('active');
    expect((await eventsOf(id)).map(({ type }) => type)).toEqual([
      'WebhookSubscriptionCreated',
      'WebhookSubscriptionPaused',
      'WebhookSubscriptionEnabled',
      'WebhookSubscriptionDisabled',
      'WebhookSubscriptionEnabled',
      'WebhookSubscriptionDisabled',
      'WebhookSubscriptionEnabled',
    ]);
    await account.api.delete(`${path}/${id}`);
  });
});

describe('the limit of 50 subscriptions', () => {
  interface Claim {
    readonly ageMs: number;
    readonly subscriptionId: string;
  }
  const claimOf = (ageMs: number, subscriptionId: string = randomUUID()): Claim => ({
    ageMs,
    subscriptionId,
  });
  /** Adds claims as other requests would have left them. */
  const claim = async ({ customerId }: TestAccount, claims: readonly Claim[]): Promise<void> => {
    const slots = webhookSlotsStream(customerId);
    const known = await service.eventsOf(slots);
    const events = claims.map(({ ageMs, subscriptionId }) => ({
      id: randomUUID(),
      type: 'WebhookSlotClaimed',
      data: { subscriptionId, claimId: randomUUID() },
      metadata: {
        ...(known[0] as NonNullable<(typeof known)[0]>).metadata,
        causationId: randomUUID(),
        occurredAt: new Date(Date.now() - ageMs).toISOString(),
      },
    }));
    await service.store.append(slots, events, known.length - 1);
  };
  const [NEW, OLD] = [1_000, 120_000];

  it('holds when more are created at once, and a deletion frees a place', async () => {
    const own = await service.openAccount();
    const { id } = await created(own.api);
    await claim(
      own,
      Array.from({ length: 40 }, () => claimOf(NEW)),
    );
    const answers = await Promise.all(Array.from({ length: 15 }, () => create(own.api)));
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(6);
    for (const answer of refused) {
      expect([refusalOf(answer), answer.body.error?.details]).toEqual([
        conflict(),
        { limit: 50, active: 50 },
      ]);
    }
    expect(await listed(own.api)).toHaveLength(10);
    await own.api.delete(`${path}/${id}`);
    const again = await Promise.all(Array.from({ length: 3 }, () => create(own.api)));
    expect(again.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(await listed(own.api)).toHaveLength(10);
  }, 60_000);

  it('gives back places whose requests ended in a crash, and of deleted subscriptions', async () => {
    const own = await service.openAccount();
    const { id } = await created(own.api);
    const deleted = await created(own.api);
    await own.api.delete(`${path}/${deleted.id}`);
    const others = Array.from({ length: 47 }, () => claimOf(NEW));
    await claim(own, [...others, claimOf(OLD), claimOf(OLD, uuidOf(deleted.id))]);
    // 50 claims: one is used, one was left by a crash, one belongs to a deleted subscription, 47 may still be used.
    const answers = [await create(own.api), await create(own.api), await create(own.api)];
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 409]);
    expect((await listed(own.api)).map((one) => one.id)).toContain(id);
  }, 60_000);
});

describe('the signing secret', () => {
  const secretsOf = async (id: string): Promise<readonly string[]> =>
    (
      await service.pool.query<{ id: string }>(
        `select id from secrets where customer_id = $1 and owner_kind = 'webhook' and owner_id = $2`,
        [account.customerId, uuidOf(id)],
      )
    ).rows.map((row) => row.id);
  const stored = (secretId: unknown) =>
    service.installation.secrets.get(account.customerId, String(secretId));
  /** Named by its events, oldest first. */
  const secretIdsOf = async (id: string): Promise<readonly string[]> =>
    (await eventsOf(id)).flatMap(({ data }) => {
      const named = z.object({ secretId: z.string() }).safeParse(data);
      return named.success ? [named.data.secretId] : [];
    });

  it('is stored encrypted, and nowhere else', async () => {
    const headers = { 'Idempotency-Key': 'a-key-whose-row-holds-no-signing-secret' };
    const given = await create(account.api, { secret: SECRET }, headers);
    const generated = await create(account.api);
    const { secret = '' } = generated.body.data;
    const tables = await service.pool.query<{ name: string }>(
      `select table_name as name from information_schema.tables where table_schema = 'public'`,
    );
    for (const { name } of tables.rows) {
      const { rows } = await service.pool.query<{ n: number }>(
        `select count(*)::int as n from ${name} t
         where position($1 in t::text) > 0 or position($2 in t::text) > 0`,
        [SECRET, secret],
      );
      expect([name, rows[0]?.n]).toEqual([name, 0]);
    }
    const plain = fingerprintOf({
      method: 'post',
      path: `/api/v2/buyer${path}`,
      pathValues: {},
      body: { ...body, secret: SECRET },
    });
    const known = await service.pool.query('select from idempotency_keys where fingerprint = $1', [plain]);
    expect(known.rowCount).toBe(0);
    const events = JSON.stringify(await service.eventsOfAccount(account));
    expect([events.includes(SECRET), events.includes(secret)]).toEqual([false, false]);
    for (const { subscription } of [given.body.data, generated.body.data]) {
      const { id } = subscription;
      for (const end of ['', '/history', '/explain', '/diff?from=0']) {
        const { text, status } = await account.api.get(`${path}/${id}${end}`);
        expect([end, status, text.includes(SECRET), text.includes(secret)]).toEqual([end, 200, false, false]);
      }
      const [secretId] = await secretIdsOf(id);
      expect(await stored(secretId)).toBe(subscription === given.body.data.subscription ? SECRET : secret);
      await account.api.delete(`${path}/${id}`);
      expect(await secretsOf(id)).toEqual([]);
    }
  });

  it('is the same for a repeated creation, which happens once; another credential does not get it', async () => {
    const headers = { 'Idempotency-Key': 'subscribe-once-and-no-more' };
    const first = await create(account.api, {}, headers);
    const again = await create(account.api, {}, headers);
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    const { id } = first.body.data.subscription;
    expect(await secretsOf(id)).toHaveLength(1);
    const issued = await account.api.post<{ key: string }>('/api-keys', { name: 'Other' });
    const other = apiOf(service.baseUrl, { Authorization: `Bearer ${issued.body.data.key}` });
    const refused = await create(other, {}, headers);
    expect([refusalOf(refused), refused.text.includes('whsec_')]).toEqual([conflict(), false]);
    expect(await eventsOf(id)).toHaveLength(1);
    await account.api.delete(`${path}/${id}`);
    expect(refusalOf(await create(account.api, {}, headers))).toEqual(conflict());
  });

  it('is rotated: both are kept until the overlap ends, and a second rotation needs force', async () => {
    const { id } = await created(account.api);
    const rotate = (more: object = {}, headers: Record<string, string> = {}) =>
      untilDefinite(() => account.api.post<RotatedAnswer>(`${path}/${id}/rotate-secret`, more, headers));
    const once = { 'Idempotency-Key': 'rotate-once-and-no-more' };
    const before = Date.now();
    const first = await rotate({}, once);
    expect([first.status, first.body.data]).toEqual([
      200,
      {
        id,
        secret: expect.stringMatching(/^whsec_/),
        previousSecretUntil: expect.any(String),
      },
    ]);
    const untilMs = Date.parse(first.body.data.previousSecretUntil);
    expect(untilMs - before).toBeGreaterThanOrEqual(86_400_000);
    expect(untilMs - before).toBeLessThan(86_400_000 + 60_000);
    expect((await rotate({}, once)).text).toBe(first.text);
    expect((await read(account.api, id)).previousSecretUntil).toBe(first.body.data.previousSecretUntil);
    const second = await rotate();
    expect([refusalOf(second), second.body.error?.details]).toEqual([
      conflict('force'),
      { previousSecretUntil: first.body.data.previousSecretUntil },
    ]);
    const forced = await rotate({ secret: SECRET, overlapSeconds: 60, force: true });
    expect(forced.body.data).toEqual({ id, previousSecretUntil: expect.any(String) });
    const events = await eventsOf(id);
    expect(events.map(({ type }) => type)).toEqual([
      'WebhookSubscriptionCreated',
      'WebhookSecretRotated',
      'WebhookSecretRotated',
    ]);
    const [, previous, last] = await secretIdsOf(id);
    expect([await stored(last), await stored(previous)]).toEqual([SECRET, first.body.data.secret]);
    expect(events.at(-1)?.data).toMatchObject({ secretId: last, previousSecretId: previous });
    await account.api.delete(`${path}/${id}`);
    expect([await stored(last), await stored(previous)]).toEqual([undefined, undefined]);
  });

  it.each([
    ['secret', { secret: 'short' }],
    ['overlapSeconds', { overlapSeconds: -1 }],
    ['overlapSeconds', { overlapSeconds: 604_801 }],
    ['force', { force: 'yes' }],
  ])('refuses a rotation with an invalid %s: %j', async (field, more) => {
    const answer = await account.api.post(`${path}/whs_${'0'.repeat(32)}/rotate-secret`, more);
    expect(refusalOf(answer)).toEqual(invalid(field));
  });

  it('is swept when no subscription refers to it, and kept during an overlap', async () => {
    const { id } = await created(account.api);
    const unrotated = await created(account.api);
    const rotate = (more: object) => account.api.post(`${path}/${id}/rotate-secret`, more);
    await rotate({ overlapSeconds: 0 });
    await rotate({ overlapSeconds: 600 });
    const [first, ...used] = await secretIdsOf(id);
    const orphan = randomUUID();
    await service.installation.secrets.put(account.customerId, orphan, 'left by a crash', {
      kind: 'webhook',
      id: randomUUID(),
    });
    await service.pool.query(`update secrets set created_at = now() - interval '2 hours'`);
    const { pool, store } = service;
    const stores = { pool, store, snapshots: noSnapshots, clock: systemClock, log: createLog('silent') };
    // The projection may be behind, and the service sweeps as well: what one has locked, the other leaves out.
    await until(async () => {
      await createOrphanSecrets(stores, findSecretsInUse(pool)).purge(10_000);
      return (await secretsOf(id)).length <= used.length;
    });
    expect((await secretsOf(id)).toSorted()).toEqual(used.toSorted());
    expect(used).toHaveLength(2);
    expect(await secretsOf(unrotated.id)).toHaveLength(1);
    expect([await stored(first), await stored(orphan)]).toEqual([undefined, undefined]);
    await account.api.delete(`${path}/${id}`);
    await account.api.delete(`${path}/${unrotated.id}`);
  });
});

describe('asking for deliveries', () => {
  const minutesAgo = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();
  const MONTH = 31 * 24 * 60;
  const plantDelivery = async (
    id: string,
    { state = 'failed', kind = 'creative.updated', minutes = 10, deliveryId = randomUUID() } = {},
  ): Promise<string> => {
    await service.pool.query(
      `insert into webhook_deliveries (customer_id, id, subscription_id, message_id, kind, state, created_at,
         due_at, attempts, first_attempt_at, last_attempt_at, last_status, last_error)
       values ($1, $2, $3, $4, $5, $6, now() - $7 * interval '1 minute', '2027-01-01T00:00:00Z', 2,
         '2026-03-01T10:00:00Z', '2026-03-01T10:05:00Z', 500, 'status')`,
      [account.customerId, deliveryId, uuidOf(id), randomUUID(), kind, state, minutes],
    );
    return deliveryId;
  };

  it('appends one event for each request, and a repeat none', async () => {
    const { id } = await created(account.api);
    const deliveryId = await plantDelivery(id);
    const since = minutesAgo(60);
    const keyed = () => ({ 'Idempotency-Key': randomUUID() });
    const twice = async (end: string, more: object = {}) => {
      const headers = keyed();
      const first = await account.api.post(`${path}/${id}/${end}`, more, headers);
      const again = await account.api.post(`${path}/${id}/${end}`, more, headers);
      expect([first.status, again.text]).toEqual([202, first.text]);
      return first.body.data;
    };
    expect(await twice('test', { type: 'creative.updated' })).toEqual({
      deliveryId: expect.stringMatching(/^dlv_[0-9a-f]{32}$/),
    });
    const shown = shownDeliveryId(deliveryId);
    expect(await twice(`deliveries/${shown}/redeliver`)).toEqual({ id: shown });
    expect(await twice('recover', { since })).toEqual({ id });
    const { replayId } = (await twice('replay', { since })) as { replayId: string };
    await twice('replay', { since, until: minutesAgo(30), eventTypes: ['task.failed'] });
    const events = (await eventsOf(id)).slice(1).map(({ type, data }) => [type, data]);
    expect(events).toEqual([
      ['WebhookTestRequested', { kind: 'creative.updated' }],
      ['WebhookRedeliveryRequested', { deliveryId }],
      ['WebhookRecoveryRequested', { since }],
      ['WebhookReplayRequested', { replayId, since, until: expect.any(String), eventTypes: body.eventTypes }],
      ['WebhookReplayRequested', expect.objectContaining({ since, eventTypes: ['task.failed'] })],
    ]);
    await account.api.delete(`${path}/${id}`);
  });

  it.each([
    ['test', 'type', {}],
    ['test', 'type', { type: 'creative.*' }],
    ['test', 'type', { type: 'access.changed' }],
    ['recover', 'since', {}],
    ['recover', 'since', { since: 'yesterday' }],
    ['recover', 'since', { since: minutesAgo(-5) }],
    ['recover', 'since', { since: minutesAgo(MONTH) }],
    ['replay', 'since', {}],
    ['replay', 'since', { since: minutesAgo(MONTH), until: minutesAgo(1) }],
    ['replay', 'since', { since: minutesAgo(-5) }],
    ['replay', 'until', { since: minutesAgo(5), until: minutesAgo(-5) }],
    ['replay', 'until', { since: minutesAgo(5), until: minutesAgo(10) }],
    ['replay', 'eventTypes.0', { since: minutesAgo(5), eventTypes: ['creative.painted'] }],
    ['replay', 'eventTypes', { since: minutesAgo(5), eventTypes: [] }],
  ])('refuses %s with an invalid %s: %j', async (end, field, more) => {
    const { id } = await created(account.api);
    expect(refusalOf(await account.api.post(`${path}/${id}/${end}`, more))).toEqual(invalid(field));
    expect(await eventsOf(id)).toHaveLength(1);
    await account.api.delete(`${path}/${id}`);
  });

  it('is refused while the subscription is not active, and for another subscription’s delivery', async () => {
    const { id } = await created(account.api);
    const other = await created(account.api);
    const shown = shownDeliveryId(await plantDelivery(id));
    for (const wrong of [
      `${path}/${other.id}/deliveries/${shown}/redeliver`,
      `${path}/${id}/deliveries/${shownDeliveryId(randomUUID())}/redeliver`,
      `${path}/${id}/deliveries/x/redeliver`,
    ]) {
      expect(refusalOf(await account.api.post(wrong))).toEqual(notFound());
    }
    await account.api.put(`${path}/${id}`, { status: 'inactive' });
    for (const [end, more] of [
      ['test', { type: 'creative.updated' }],
      [`deliveries/${shown}/redeliver`, {}],
      ['recover', { since: minutesAgo(5) }],
      ['replay', { since: minutesAgo(5) }],
    ] as const) {
      expect(refusalOf(await account.api.post(`${path}/${id}/${end}`, more))).toEqual(conflict());
    }
    await account.api.delete(`${path}/${id}`);
    await account.api.delete(`${path}/${other.id}`);
  });

  it('replays at most 100,000 events', async () => {
    const own = await service.openAccount();
    const { id } = await created(own.api, { eventTypes: ['creative.updated'] });
    await service.pool.query(
      `insert into notifications (customer_id, position, idx, id, kind, resource_type, resource_id, occurred_at,
         revision, changed)
       select $1, 'p' || n, 0, gen_random_uuid(), 'creative.updated', 'CREATIVE', 'cre', now() - interval '5 minutes',
         1, '{}' from generate_series(1, 100001) n`,
      [own.customerId],
    );
    const replay = (more: object = {}) =>
      own.api.post(`${path}/${id}/replay`, { since: minutesAgo(10), ...more });
    const refused = await replay();
    expect([refusalOf(refused), refused.body.error?.details]).toEqual([invalid('since'), { limit: 100_000 }]);
    expect((await replay({ eventTypes: ['creative.created'] })).status).toBe(202);
    expect((await replay({ since: minutesAgo(4) })).status).toBe(202);

    await service.pool.query(`delete from notifications where customer_id = $1 and position > 'p6'`, [
      own.customerId,
    ]);
    const subscriptionId = webhookIdOf(id);
    await service.pool.query(
      `insert into webhook_deliveries (customer_id, id, subscription_id, message_id, kind, state, due_at)
       select $1, gen_random_uuid(), $2, gen_random_uuid(), 'creative.updated', 'due', now() + interval '1 day'
       from generate_series(1, 60000) n`,
      [own.customerId, subscriptionId],
    );
    const tooMany = await replay();
    expect([refusalOf(tooMany), tooMany.body.error?.details]).toEqual([
      conflict(),
      { limit: 100_000, waiting: 60_000, events: expect.any(Number) },
    ]);
    await service.pool.query('delete from webhook_deliveries where subscription_id = $1', [subscriptionId]);
    expect((await replay()).status).toBe(202);
  });

  it('lists deliveries by pages and filters, and shows one with its attempts', async () => {
    const { id } = await created(account.api);
    type Page = { deliveries: WebhookDelivery[]; nextCursor?: string };
    const list = async (query = ''): Promise<Page> => {
      const answer = await account.api.get<Page>(`${path}/${id}/deliveries${query}`);
      expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
      return answer.body.data;
    };
    expect(await list()).toEqual({ deliveries: [] });
    const ids: string[] = [];
    for (let n = 0; n < 6; n += 1) {
      const state = (['failed', 'delivered', 'due'] as const)[n % 3];
      const kind = n < 3 ? 'creative.updated' : 'campaign.created';
      const deliveryId = await plantDelivery(id, { ...(state && { state }), kind, minutes: 10 * n });
      ids.push(shownDeliveryId(deliveryId));
    }
    const idsIn = ({ deliveries }: Page) => deliveries.map((one) => one.id);
    expect(idsIn(await list())).toEqual(ids);
    const pages: string[][] = [];
    for (let query = '?limit=4'; ;) {
      const page = await list(query);
      pages.push(idsIn(page));
      if (page.nextCursor === undefined) break;
      query = `?limit=4&cursor=${page.nextCursor}`;
    }
    expect(pages).toEqual([ids.slice(0, 4), ids.slice(4)]);
    const at = (...positions: readonly number[]) => positions.map((n) => ids[n]);
    expect(idsIn(await list('?state=failed'))).toEqual(at(0, 3));
    expect(idsIn(await list('?type=campaign.created'))).toEqual(at(3, 4, 5));
    expect(idsIn(await list(`?since=${minutesAgo(25)}`))).toEqual(at(0, 1, 2));
    expect(idsIn(await list(`?since=${minutesAgo(35)}&state=failed&type=campaign.created`))).toEqual(at(3));
    const filtered = await list('?type=creative.updated&limit=2');
    expect(idsIn(filtered)).toEqual(at(0, 1));
    const rest = await list(`?type=creative.updated&limit=2&cursor=${filtered.nextCursor}`);
    expect([idsIn(rest), rest.nextCursor]).toEqual([at(2), undefined]);

    const deliveryId = ids[0] ?? '';
    await service.pool.query(
      `insert into webhook_attempts (customer_id, delivery_id, attempt, started_at, duration_ms, status, error, response_head)
       select $1, d.id, n, '2026-03-01T10:00:00Z', 15, 500, 'status', 'Sorry' from webhook_deliveries d,
         generate_series(1, 2) n where d.customer_id = $1 and d.subscription_id = $2 and d.kind = 'creative.updated'
         and d.state = 'failed'`,
      [account.customerId, uuidOf(id)],
    );
    const one = await account.api.get(`${path}/${id}/deliveries/${deliveryId}`);
    const attempt = { startedAt: '2026-03-01T10:00:00.000Z', durationMs: 15, responseStatus: 500 };
    const ended = { error: 'status', responseHead: 'Sorry' };
    expect(one.body.data).toEqual({
      delivery: {
        id: deliveryId,
        messageId: expect.stringMatching(/^msg_[0-9a-f-]{36}$/),
        type: 'creative.updated',
        state: 'failed',
        attemptCount: 2,
        createdAt: expect.any(String),
        firstAttemptAt: '2026-03-01T10:00:00.000Z',
        lastAttemptAt: '2026-03-01T10:05:00.000Z',
        responseStatus: 500,
        error: 'status',
      },
      attempts: [
        { attempt: 1, ...attempt, ...ended },
        { attempt: 2, ...attempt, ...ended },
      ],
    });
    const due = await account.api.get(`${path}/${id}/deliveries/${ids[2]}`);
    expect(due.body.data).toMatchObject({
      delivery: { state: 'due', nextAttemptAt: '2027-01-01T00:00:00.000Z' },
    });

    const other = await created(account.api);
    const { nextCursor } = await list('?limit=1');
    for (const [query, field] of [
      ['?cursor=x', 'cursor'],
      ['?state=lost', 'state'],
      ['?since=never', 'since'],
      ['?limit=0', 'limit'],
    ]) {
      expect(refusalOf(await account.api.get(`${path}/${id}/deliveries${query}`))).toEqual(
        invalid(field ?? ''),
      );
    }
    const foreign = await account.api.get(`${path}/${other.id}/deliveries?cursor=${nextCursor}`);
    expect(refusalOf(foreign)).toEqual(invalid('cursor'));
    expect(refusalOf(await account.api.get(`${path}/${other.id}/deliveries/${deliveryId}`))).toEqual(
      notFound(),
    );
    await account.api.delete(`${path}/${id}`);
    await account.api.delete(`${path}/${other.id}`);
  });

  it('goes on after a page without a match: only so many deliveries are examined for one', async () => {
    const { id } = await created(account.api);
    const oldest = await plantDelivery(id, { kind: 'task.failed', minutes: 60 });
    await service.pool.query(
      `insert into webhook_deliveries (customer_id, id, subscription_id, message_id, kind, state)
       select $1, gen_random_uuid(), $2, gen_random_uuid(), 'creative.updated', 'delivered'
       from generate_series(1, 6000)`,
      [account.customerId, uuidOf(id)],
    );
    type Page = { deliveries: WebhookDelivery[]; nextCursor?: string };
    const list = async (query: string) =>
      (await account.api.get<Page>(`${path}/${id}/deliveries?type=task.failed${query}`)).body.data;
    const first = await list('');
    expect([first.deliveries, typeof first.nextCursor]).toEqual([[], 'string']);
    const second = await list(`&cursor=${first.nextCursor}`);
    expect(second.deliveries.map((one) => one.id)).toEqual([shownDeliveryId(oldest)]);
    expect(second.nextCursor).toBeUndefined();
    await account.api.delete(`${path}/${id}`);
  });
});

describe('rights and the past', () => {
  it('need the scope of reads or writes', async () => {
    const { id } = await created(account.api);
    const key = async (...scopes: string[]) => {
      const issued = await account.api.post<{ key: string }>('/api-keys', { name: 'Scoped', scopes });
      return apiOf(service.baseUrl, { Authorization: `Bearer ${issued.body.data.key}` });
    };
    const reader = await key('exchange:read');
    expect((await reader.get(`${path}/${id}`)).status).toBe(200);
    for (const refused of [
      await reader.post(path, body),
      await reader.put(`${path}/${id}`, {}),
      await reader.delete(`${path}/${id}`),
      await reader.post(`${path}/${id}/rotate-secret`, {}),
      await reader.post(`${path}/${id}/test`, { type: 'task.failed' }),
    ]) {
      expect(refusalOf(refused)).toEqual([403, 'FORBIDDEN', undefined]);
    }
    await account.api.delete(`${path}/${id}`);
  });

  it('are those of one account', async () => {
    const { id } = await created(account.api);
    const other = await service.openAccount();
    for (const answer of [
      await other.api.get(`${path}/${id}`),
      await other.api.get(`${path}/${id}/deliveries`),
      await other.api.put(`${path}/${id}`, { status: 'inactive' }),
      await other.api.delete(`${path}/${id}`),
      await other.api.post(`${path}/${id}/rotate-secret`, {}),
    ]) {
      expect(refusalOf(answer)).toEqual(notFound());
    }
    expect(await listed(other.api)).toEqual([]);
    await account.api.delete(`${path}/${id}`);
  });

  it('show earlier states, the history and the audit log', async () => {
    const own = await service.openAccount();
    const first = await created(own.api);
    const { id } = first;
    await own.api.put(`${path}/${id}`, { url: 'https://other.example.com/' });
    await disable(id, 'gone', own);
    const { failureCount: _health, ...then } = first;
    const past = await own.api.get<CreatedAnswer>(`${path}/${id}?asOf=1`);
    expect(past.body.data).toEqual({ subscription: then });
    const disabled = await own.api.get<CreatedAnswer>(`${path}/${id}?asOf=3`);
    expect(disabled.body.data.subscription).toMatchObject({ status: 'inactive', statusReason: 'gone' });
    expect(await listed(own.api, `?asOf=${first.createdAt}`)).toEqual([then]);
    await own.api.delete(`${path}/${id}`);
    expect(await listed(own.api)).toEqual([]);
    expect((await listed(own.api, `?asOf=${first.createdAt}`)).map((one) => one.id)).toEqual([id]);
    const history = await own.api.get<{ events: { type: string }[] }>(`${path}/${id}/history`);
    expect(history.body.data.events.map(({ type }) => type)).toEqual([
      'WebhookSubscriptionCreated',
      'WebhookSubscriptionUpdated',
      'WebhookSubscriptionDisabled',
      'WebhookSubscriptionDeleted',
    ]);
    const audit = await own.api.get<{ logs: { action: string; actorOrigin: string; resourceId: string }[] }>(
      '/audit-logs?resourceTypes=WEBHOOK_SUBSCRIPTION',
    );
    expect(
      audit.body.data.logs.map(({ action, actorOrigin, resourceId }) => [action, actorOrigin, resourceId]),
    ).toEqual([
      ['WebhookSubscriptionDeleted', 'API_KEY', id],
      ['WebhookSubscriptionDisabled', 'WORKER', id],
      ['WebhookSubscriptionUpdated', 'API_KEY', id],
      ['WebhookSubscriptionCreated', 'API_KEY', id],
    ]);
  });
});
