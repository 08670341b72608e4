import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { createKeyUse, forgetSealed, keyUses } from '../../command/accounts/record-key-use.ts';
import { createRetiredKeys } from '../../command/accounts/retire-keys.ts';
import type { ApiKeyResource } from '../../domain/accounts/resource.ts';
import { createKey, createUser, setAccess } from '../../cli/operate-accounts.ts';
import { isoTimestamp, systemClock } from '../../shared/async/clock.ts';
import { fingerprintOf } from '../../shared/idempotency/request-fingerprint.ts';
import { apiOf, conflict, invalid, notFound, refusalOf, type Api } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** Accounts and API keys over HTTP (specification, Authentication). */

type NewKey = ApiKeyResource & { readonly key: string };

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount('Acme Ltd');
});
afterAll(() => service.stop());

const apiWith = (key: string): Api => apiOf(service.baseUrl, { Authorization: `Bearer ${key}` });
const issue = async (api: Api, body: object = { name: 'Key' }, headers = {}): Promise<NewKey> => {
  const answer = await api.post<NewKey>('/api-keys', body, headers);
  expect([answer.status, answer.text]).toEqual([201, expect.anything()]);
  return answer.body.data;
};
const idOf = (key: string): string => key.split('_')[1] ?? '';
const keysOf = async ({ api }: { api: Api }): Promise<readonly ApiKeyResource[]> =>
  (await api.get<readonly ApiKeyResource[]>('/api-keys?take=200')).body.data;

describe('the current account', () => {
  it('names the owner of the credential', async () => {
    const answer = await fetch(`${service.baseUrl}/api/v2/accounts/current`, {
      headers: { Authorization: `Bearer ${account.apiKey}` },
    });
    expect([answer.status, await answer.json()]).toEqual([
      200,
      {
        data: { id: account.customerId, company: 'Acme Ltd', name: 'Administrator', role: 'admin' },
        error: null,
      },
    ]);
  });
});

describe('issuing a key', () => {
  it('shows the key once, and the key works immediately', async () => {
    const issued = await issue(account.api, { name: 'Nightly sync' });
    expect(issued).toEqual({
      id: idOf(issued.key),
      name: 'Nightly sync',
      maskedKey: `bx_${idOf(issued.key)}_****${issued.key.slice(-4)}`,
      status: 'ACTIVE',
      scopes: ['exchange:read', 'exchange:write', 'exchange:admin'],
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      key: expect.stringMatching(/^bx_[A-Za-z0-9]{16}_[A-Za-z0-9_-]{43}$/),
    });
    expect((await apiWith(issued.key).get('/advertisers')).status).toBe(200);
    const { key: _, ...listed } = issued;
    const list = await account.api.get<ApiKeyResource[]>('/api-keys');
    expect(list.text).not.toContain(issued.key);
    expect(list.body.data[0]).toEqual(listed);
  });

  it('appends an event without the key', async () => {
    const issued = await issue(account.api, { name: 'Recorded', scopes: ['exchange:read'] });
    const events = await service.eventsOf(`account-${account.customerId}`);
    expect(events.at(-1)).toMatchObject({
      type: 'ApiKeyIssued',
      data: {
        keyId: issued.id,
        name: 'Recorded',
        maskedKey: issued.maskedKey,
        userId: `${account.customerId}-1`,
        scopes: ['exchange:read'],
      },
      metadata: { actor: `api-key:${idOf(account.apiKey)}` },
    });
    expect(JSON.stringify(events)).not.toContain(issued.key.slice(-20));
  });

  it.each([
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(121) }, 'name'],
    [{ name: 'x', scopes: [] }, 'scopes'],
    [{ name: 'x', scopes: ['exchange:all'] }, 'scopes.0'],
    [{ name: 'x', expiresAt: 'tomorrow' }, 'expiresAt'],
    [{ name: 'x', expiresAt: '2001-01-01T00:00:00Z' }, 'expiresAt'],
    [{ name: 'x', expiresAt: '0000-01-01T00:00:00Z' }, 'expiresAt'],
    [{ name: 'x', expiresAt: '9999-12-31T23:59:59-23:00' }, 'expiresAt'],
  ])('refuses %j with 400', async (body, field) => {
    const before = await keysOf(account);
    expect(refusalOf(await account.api.post('/api-keys', body))).toEqual(invalid(field));
    expect(await keysOf(account)).toEqual(before);
  });

  it('accepts an expiry, returns it in UTC, and refuses the key after it', async () => {
    const { api } = await service.openAccount();
    const expiresAt = new Date(Date.now() + 2_500).toISOString();
    const issued = await issue(api, { name: 'Short', expiresAt: expiresAt.replace('Z', '+00:00') });
    expect(issued.expiresAt).toBe(expiresAt);
    const use = () => apiWith(issued.key).get('/advertisers');
    expect((await use()).status).toBe(200);
    while (Date.now() <= Date.parse(expiresAt) + 50) await new Promise((done) => setTimeout(done, 50));
    expect(refusalOf(await use())).toEqual([401, 'UNAUTHORIZED', undefined]);
    expect((await keysOf({ api }))[0]?.status).toBe('EXPIRED');
  });
});

describe('issuing with an Idempotency-Key', () => {
  const headers = { 'Idempotency-Key': 'issue-a-key-just-once' };

  it('repeats the same key to its issuer without storing it', async () => {
    const { api } = await service.openAccount();
    const first = await api.post<NewKey>('/api-keys', { name: 'Once' }, headers);
    const again = await api.post<NewKey>('/api-keys', { name: 'Once' }, headers);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect([first, again].map((one) => one.headers.get('idempotent-replayed'))).toEqual([null, 'true']);
    expect(await keysOf({ api })).toHaveLength(2);
    const { rows } = await service.pool.query<{ all: string }>(
      `select coalesce(string_agg(k::text, ' '), '') as all from idempotency_keys k`,
    );
    expect(rows[0]?.all).not.toContain(first.body.data.key.slice(-30));
  });

  it('does not show the key to another credential of the account', async () => {
    const { api } = await service.openAccount();
    const other = await issue(api, { name: 'Other' });
    const first = await api.post<NewKey>('/api-keys', { name: 'Once' }, headers);
    const again = await apiWith(other.key).post('/api-keys', { name: 'Once' }, headers);
    expect(refusalOf(again)).toEqual(conflict());
    expect(again.body.error?.details).toEqual({ id: first.body.data.id });
    expect(again.text).not.toContain(first.body.data.key);
    expect((await apiWith(first.body.data.key).get('/advertisers')).status).toBe(200);
    const reused = await api.post('/api-keys', { name: 'Another' }, headers);
    expect(refusalOf(reused)[1]).toBe('IDEMPOTENCY_CONFLICT');
    expect((await api.post('/api-keys', { name: 'Once' }, headers)).text).toBe(first.text);
  });

  it('leaves the Idempotency-Key free when it is refused', async () => {
    const { api } = await service.openAccount();
    const refused = { name: 'Once', expiresAt: '2001-01-01T00:00:00Z' };
    expect(refusalOf(await api.post('/api-keys', refused, headers))).toEqual(invalid('expiresAt'));
    expect((await api.post('/api-keys', { name: 'Once' }, headers)).status).toBe(201);
    expect(await keysOf({ api })).toHaveLength(2);
  });

  it('honors it for 24 hours from its completion, however often it is repeated', async () => {
    const { api, customerId } = await service.openAccount();
    const send = (name: string) => api.post<NewKey>('/api-keys', { name }, headers);
    // The first try, which ended before it had an effect, was on another day.
    const fingerprint = fingerprintOf({
      method: 'post',
      path: '/api/v2/buyer/api-keys',
      pathValues: {},
      body: { name: 'Once' },
    });
    await service.pool.query(
      `insert into idempotency_keys (scope, key, fingerprint, reserved, lease_until, claimed_at)
       values ($1, $2, $3, '{}', now() - interval '25 hours', now() - interval '25 hours')`,
      [customerId, headers['Idempotency-Key'], fingerprint],
    );
    const age = async (interval: string) => {
      await service.pool.query(
        'update idempotency_keys set completed_at = completed_at - $2::interval where scope = $1',
        [String(customerId), interval],
      );
      await service.pool.query(
        'update api_keys set sealed_until = sealed_until - $2::interval where customer_id = $1',
        [customerId, interval],
      );
      await forgetSealed(service.pool);
    };
    const first = await send('Once');
    await age('23 hours 59 minutes');
    const within = await send('Once');
    expect([within.text, within.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    expect(refusalOf(await send('Another'))[1]).toBe('IDEMPOTENCY_CONFLICT');
    await age('2 minutes');
    const afterwards = await send('Another');
    expect([afterwards.status, afterwards.headers.get('idempotent-replayed')]).toEqual([201, null]);
    expect(afterwards.body.data.id).not.toBe(first.body.data.id);
    expect(await keysOf({ api })).toHaveLength(3);
  });

  it('refuses another request with the same Idempotency-Key', async () => {
    const { api } = await service.openAccount();
    expect((await api.post('/api-keys', { name: 'Once' }, headers)).status).toBe(201);
    expect(refusalOf(await api.post('/api-keys', { name: 'Twice' }, headers))[1]).toBe(
      'IDEMPOTENCY_CONFLICT',
    );
  });
});

describe('revoking', () => {
  it('refuses the key from its next request on; revoking it again changes nothing', async () => {
    const { api, customerId } = await service.openAccount();
    const { id, key } = await issue(api);
    expect((await apiWith(key).get('/advertisers')).status).toBe(200);
    expect((await api.delete(`/api-keys/${id}`)).status).toBe(204);
    for (const answer of [
      await apiWith(key).get('/advertisers'),
      await apiWith(key).post('/advertisers', { name: 'x' }),
    ])
      expect(refusalOf(answer)).toEqual([401, 'UNAUTHORIZED', undefined]);
    expect((await api.delete(`/api-keys/${id}`)).status).toBe(204);
    expect((await keysOf({ api }))[0]).toMatchObject({ id, status: 'REVOKED' });
    const events = await service.eventsOf(`account-${customerId}`);
    expect(events.map(({ type }) => type)).toEqual([
      'AccountOpened',
      'ApiKeyIssued',
      'ApiKeyIssued',
      'ApiKeyRevoked',
    ]);
  });

  it('lets a key revoke itself', async () => {
    const { api } = await service.openAccount();
    const { id, key } = await issue(api);
    expect((await apiWith(key).delete(`/api-keys/${id}`)).status).toBe(204);
    expect((await apiWith(key).delete(`/api-keys/${id}`)).status).toBe(401);
  });

  it("answers the same for another account's key and an unknown one", async () => {
    const stranger = await service.openAccount();
    const { id, key } = await issue(stranger.api);
    const theirs = await account.api.delete(`/api-keys/${id}`);
    const nobodys = await account.api.delete('/api-keys/aaaaaaaaaaaaaaaa');
    expect(refusalOf(theirs)).toEqual(notFound());
    expect(theirs.text).toBe(nobodys.text);
    expect((await apiWith(key).get('/advertisers')).status).toBe(200);
  });
});

describe('an ended key', () => {
  it('is listed for 90 days; its end is in the stream before its row is deleted', async () => {
    const { api, customerId } = await service.openAccount();
    const revoked = await issue(api, { name: 'Revoked' });
    const unsettled = await issue(api, { name: 'Revoked, and cut off before the event' });
    const expired = await issue(api, { name: 'Expired', expiresAt: '2999-01-01T00:00:00Z' });
    await issue(api, { name: 'In use' });
    expect((await api.delete(`/api-keys/${revoked.id}`)).status).toBe(204);
    const set = (id: string, column: string, ago: string) =>
      service.pool.query(`update api_keys set ${column} = now() - $2::interval where key_id = $1`, [id, ago]);
    const purge = () => createRetiredKeys({ ...service.installation, clock: systemClock }).purge(1_000);
    const names = async () => (await keysOf({ api })).map(({ name, status }) => `${name}: ${status}`);
    for (const ago of ['89 days 23 hours', '90 days']) {
      await set(revoked.id, 'revoked_at', ago);
      await set(unsettled.id, 'revoked_at', ago);
      await set(expired.id, 'expires_at', ago);
      await purge();
      expect(await names()).toHaveLength(ago === '90 days' ? 2 : 5);
    }
    expect(await names()).toEqual(['In use: ACTIVE', 'First key: ACTIVE']);
    expect(refusalOf(await apiWith(revoked.key).get('/advertisers'))[0]).toBe(401);
    const events = await service.eventsOf(`account-${customerId}`);
    const ended = events.filter(({ type }) => type === 'ApiKeyRevoked').map(({ data }) => data['keyId']);
    expect(ended).toEqual([revoked.id, unsettled.id]);
  });

  it('does not block others when its account cannot be read', async () => {
    const [unreadable, other] = [await service.openAccount(), await service.openAccount()];
    const retireAt = async (one: TestAccount, ago: string): Promise<string> => {
      const { id } = await issue(one.api, { name: 'Revoked' });
      await one.api.delete(`/api-keys/${id}`);
      const text = `update api_keys set revoked_at = now() - $2::interval where key_id = $1`;
      await service.pool.query(text, [id, ago]);
      return id;
    };
    const [kept, gone] = [await retireAt(unreadable, '92 days'), await retireAt(other, '91 days')];
    const id = randomUUID();
    const ids = { requestId: id, correlationId: id, causationId: id };
    const { customerId } = unreadable;
    const occurredAt = isoTimestamp(systemClock.now());
    const metadata = { customerId, actor: 'test', ...ids, occurredAt, schemaVersion: 99 };
    await service.store.append(
      `account-${customerId}`,
      [{ id, type: 'ApiKeyRevoked', data: {}, metadata }],
      'any',
    );
    const retired = createRetiredKeys({ ...service.installation, clock: systemClock });
    await expect(retired.purge(1)).rejects.toMatchObject({ name: 'SweepError', failed: 1 });
    const text = 'select key_id as "keyId" from api_keys where key_id = any($1)';
    const { rows } = await service.pool.query<{ keyId: string }>(text, [[kept, gone]]);
    expect(rows.map(({ keyId }) => keyId)).toEqual([kept]);
  });
});

describe('the list', () => {
  it('is paged, newest first', async () => {
    const { api } = await service.openAccount();
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c']) ids.unshift((await issue(api, { name })).id);
    const page = await api.get<ApiKeyResource[]>('/api-keys?take=2&skip=1');
    expect(page.body.data.map(({ id }) => id)).toEqual([ids[1], ids[2]]);
    expect(page.body.meta.pagination).toEqual({ skip: 1, take: 2, total: 4, hasMore: true });
  });
});

describe('scopes', () => {
  it('are checked by each operation', async () => {
    const read = apiWith((await issue(account.api, { name: 'r', scopes: ['exchange:read'] })).key);
    const write = apiWith((await issue(account.api, { name: 'w', scopes: ['exchange:write'] })).key);
    const forbidden = [403, 'FORBIDDEN', undefined];
    expect((await read.get('/advertisers')).status).toBe(200);
    expect((await write.post('/advertisers', { name: 'x' })).status).toBe(201);
    for (const answer of [
      await read.post('/advertisers', { name: 'x' }),
      await read.put('/advertisers/1', {}),
      await read.delete('/advertisers/1'),
      await read.get('/api-keys'),
      await read.post('/api-keys', { name: 'x' }),
      await read.delete('/api-keys/x'),
      await write.get('/advertisers'),
      await write.get('/advertisers/1'),
      await write.post('/api-keys', '{'),
    ])
      expect(refusalOf(answer)).toEqual(forbidden);
    const answer = await read.post('/advertisers', {});
    expect(answer.body.error?.details).toEqual({ scope: 'exchange:write' });
  });
});

describe('roles', () => {
  it("let a member's key read and write, but not manage keys", async () => {
    const { customerId, api } = await service.openAccount();
    const userId = await createUser(service.installation, customerId, { name: 'Mo', role: 'member' });
    const { key, scopes } = await createKey(service.installation, customerId, { name: 'Member', userId });
    expect(scopes).toEqual(['exchange:read', 'exchange:write']);
    const member = apiWith(key);
    expect((await member.post('/advertisers', { name: 'x' })).status).toBe(201);
    expect((await member.get('/advertisers')).body.meta.pagination.total).toBe(1);
    for (const answer of [
      await member.get('/api-keys'),
      await member.post('/api-keys', { name: 'x' }),
      await member.delete(`/api-keys/${idOf(key)}`),
    ])
      expect(refusalOf(answer)).toEqual([403, 'FORBIDDEN', undefined]);
    const current = await fetch(`${service.baseUrl}/api/v2/accounts/current`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    expect(await current.json()).toMatchObject({ data: { name: 'Mo', role: 'member' } });
    expect((await api.delete(`/api-keys/${idOf(key)}`)).status).toBe(204);
    expect((await member.get('/advertisers')).status).toBe(401);
  });

  it("limit the scopes that a member's key can have", async () => {
    const { customerId } = await service.openAccount();
    const userId = await createUser(service.installation, customerId, { name: 'Mo', role: 'member' });
    await expect(
      createKey(service.installation, customerId, { name: 'More', userId, scopes: ['exchange:admin'] }),
    ).rejects.toMatchObject({ body: { code: 'FORBIDDEN', field: 'scopes' } });
    expect((await service.eventsOf(`account-${customerId}`)).at(-1)?.type).toBe('UserAdded');
  });
});

describe('a disabled account', () => {
  it('refuses all credentials until it is enabled again', async () => {
    const { customerId, api } = await service.openAccount();
    expect((await api.get('/advertisers')).status).toBe(200);
    await setAccess(service.installation, customerId, 'disabled');
    expect(refusalOf(await api.get('/advertisers'))).toEqual([401, 'UNAUTHORIZED', undefined]);
    await setAccess(service.installation, customerId, 'enabled');
    expect((await api.get('/advertisers')).status).toBe(200);
  });
});

describe('the last use of a key', () => {
  it('is stored later, at most once a minute, and without an event', async () => {
    const clock = { now: () => Date.parse('2026-11-21T10:00:00.000Z') };
    const { customerId, api, apiKey } = await service.openAccount();
    const writes: number[] = [];
    const counting = {
      query: async (statement: object) => {
        const result = await service.pool.query(statement as { text: string });
        writes.push(result.rowCount ?? 0);
        return result;
      },
    } as unknown as Pick<Pool, 'query'>;
    const use = createKeyUse(counting, clock, keyUses);
    const usedAt = async (): Promise<string | undefined> => (await keysOf({ api }))[0]?.lastUsedAt;
    for (let n = 0; n < 1_000; n++) use.used(idOf(apiKey));
    expect([writes, await usedAt()]).toEqual([[], undefined]);
    await use.flush();
    await use.flush();
    expect([writes, await usedAt()]).toEqual([[1], '2026-11-21T10:00:00.000Z']);
    clock.now = () => Date.parse('2026-11-21T10:00:59.000Z');
    use.used(idOf(apiKey));
    await use.flush();
    clock.now = () => Date.parse('2026-11-21T10:01:01.000Z');
    use.used(idOf(apiKey));
    await use.flush();
    expect([writes, await usedAt()]).toEqual([[1, 0, 1], '2026-11-21T10:01:01.000Z']);
    expect(await service.eventsOf(`account-${customerId}`)).toHaveLength(2);
  });

  it('is stored for at most 10,000 keys at a time', async () => {
    const asked: unknown[] = [];
    const counting = { query: async (statement: unknown) => void asked.push(statement) };
    const use = createKeyUse(counting as unknown as Pick<Pool, 'query'>, { now: () => 0 }, keyUses);
    for (let n = 0; n < 20_000; n++) use.used(`key-${n}`);
    await use.flush();
    expect((asked[0] as { values: string[][] }).values[0]).toHaveLength(10_000);
  });
});
