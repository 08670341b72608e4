import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BrowserOriginResource } from '../../domain/accounts/resource.ts';
import { freePort } from '../support/free-port.ts';
import {
  apiOf,
  conflict,
  invalid,
  notFound,
  refusalOf,
  type Api,
  untilDefinite,
} from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount('Acme Ltd');
});
afterAll(() => service.stop());

const register = async (api: Api, origin: string, rest: object = {}): Promise<BrowserOriginResource> => {
  const answer = await api.post<BrowserOriginResource>('/browser-origins', { origin, ...rest });
  expect([answer.status, answer.text]).toEqual([201, expect.anything()]);
  return answer.body.data;
};
const listed = async (api: Api): Promise<readonly BrowserOriginResource[]> =>
  (await api.get<{ origins: BrowserOriginResource[] }>('/browser-origins')).body.data.origins;
const allowedBy = async (api: Api, origin: string): Promise<string | null> => {
  const answer = await api.get('/advertisers', { Origin: origin });
  expect([answer.status, answer.headers.get('vary')]).toEqual([200, 'Origin']);
  expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
  return answer.headers.get('access-control-allow-origin');
};
const preflight = async (origin: string): Promise<Headers> => {
  const answer = await fetch(`${service.baseUrl}/api/v2/buyer/advertisers`, {
    method: 'OPTIONS',
    headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' },
  });
  expect(answer.status).toBe(204);
  return answer.headers;
};

describe('registering a browser origin', () => {
  it('answers with the origin as browsers send it, and lists it', async () => {
    const registered = await register(account.api, 'https://APP.Example.com:443', { label: 'App' });
    expect(registered).toEqual({
      id: expect.any(String),
      customerId: account.customerId,
      origin: 'https://app.example.com',
      label: 'App',
      createdByUserId: `${account.customerId}-1`,
      createdAt: expect.any(String),
      updatedAt: registered.createdAt,
    });
    expect(await listed(account.api)).toEqual([registered]);
    const events = await service.eventsOf(`account-${account.customerId}`);
    expect(events.at(-1)).toMatchObject({
      type: 'BrowserOriginRegistered',
      data: { originId: registered.id, origin: 'https://app.example.com', label: 'App' },
    });
  });

  it('refuses an origin that is registered already, in the form that it is compared in', async () => {
    const { id } = await register(account.api, 'https://twice.example.com');
    const refused = await account.api.post('/browser-origins', { origin: 'https://TWICE.example.com' });
    expect([refusalOf(refused), refused.body.error?.details]).toEqual([conflict('origin'), { id }]);
  });

  it.each([
    'app.example.com',
    'ftp://app.example.com',
    'http://app.example.com',
    'https://',
    'https://app.example.com/',
    'https://app.example.com/path',
    'https://app.example.com?query',
    'https://user@app.example.com',
    'https://*.example.com',
    'https://app.example.com\\path',
    'null',
    '*',
  ])('refuses %s', async (origin) => {
    expect(refusalOf(await account.api.post('/browser-origins', { origin }))).toEqual(invalid('origin'));
  });

  it('accepts at most 50 origins, also when they are registered at once', async () => {
    const { api } = await service.openAccount();
    const answers = await Promise.all(
      Array.from({ length: 55 }, (_, n) => {
        // On a busy machine some are answered 503 first. With its key, a repeat registers once.
        const once = { 'Idempotency-Key': `registered-at-once-${n}` };
        const origin = `https://app.example.com:${n + 1}`;
        return untilDefinite(() => api.post('/browser-origins', { origin }, once));
      }),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(50);
    const refused = answers.find(({ status }) => status !== 201);
    expect([refused?.status, refused?.body.error]).toEqual([
      409,
      expect.objectContaining({ code: 'CONFLICT', details: { limit: 50, active: 50 } }),
    ]);
    const [first] = await listed(api);
    await api.delete(`/browser-origins/${first?.id}`);
    await register(api, 'https://51.example.com');
  });

  it('is for admins', async () => {
    const issued = await account.api.post<{ key: string }>('/api-keys', {
      name: 'Write',
      scopes: ['exchange:read', 'exchange:write'],
    });
    const member = apiOf(service.baseUrl, { Authorization: `Bearer ${issued.body.data.key}` });
    for (const answer of [
      await member.get('/browser-origins'),
      await member.post('/browser-origins', { origin: 'https://other.example.com' }),
      await member.delete('/browser-origins/any'),
    ])
      expect([answer.status, answer.body.error?.code]).toEqual([403, 'FORBIDDEN']);
  });

  it('accepts http for pages of this machine, but not in production', async () => {
    expect((await register(account.api, 'http://localhost:5173')).origin).toBe('http://localhost:5173');
    expect((await register(account.api, 'http://127.0.0.1:80')).origin).toBe('http://127.0.0.1');
  });
});

describe('a request from a page', () => {
  it('is allowed for an origin of the same account only', async () => {
    const other = await service.openAccount();
    await register(account.api, 'https://own.example.com');
    await register(other.api, 'https://other.example.com');
    expect(await allowedBy(account.api, 'https://own.example.com')).toBe('https://own.example.com');
    expect(await allowedBy(account.api, 'https://other.example.com')).toBeNull();
    expect(await allowedBy(account.api, 'https://nobody.example.com')).toBeNull();
    expect(await allowedBy(account.api, 'http://own.example.com')).toBeNull();
    expect(await allowedBy(account.api, 'https://own.example.com:8443')).toBeNull();
    expect(await allowedBy(account.api, 'https://sub.own.example.com')).toBeNull();
  });

  it('is preceded by a preflight that any account can allow, because it names no account', async () => {
    const other = await service.openAccount();
    await register(other.api, 'https://preflight.example.com');
    const allowed = await preflight('https://preflight.example.com');
    expect(allowed.get('access-control-allow-origin')).toBe('https://preflight.example.com');
    expect(allowed.get('access-control-allow-methods')).toContain('POST');
    expect(allowed.get('access-control-allow-headers')).toContain('Authorization');
    expect((await preflight('https://unknown.example.com')).get('access-control-allow-origin')).toBeNull();
  });

  it('is refused on the next request after the removal of the origin, a hundred times', async () => {
    const { api } = await service.openAccount();
    const origin = 'https://removed.example.com';
    for (let n = 0; n < 100; n += 1) {
      const { id } = await register(api, origin);
      expect(await allowedBy(api, origin)).toBe(origin);
      expect((await api.delete(`/browser-origins/${id}`)).status).toBe(204);
      expect(await allowedBy(api, origin)).toBeNull();
      expect((await preflight(origin)).get('access-control-allow-origin')).toBeNull();
    }
    expect(await listed(api)).toEqual([]);
  });
});

describe('removing a browser origin', () => {
  it('repeated is refused like an unknown one, and changes nothing', async () => {
    const { id } = await register(account.api, 'https://gone.example.com');
    const headers = { 'Idempotency-Key': 'remove-origin-once' };
    expect((await account.api.delete(`/browser-origins/${id}`, headers)).status).toBe(204);
    expect((await account.api.delete(`/browser-origins/${id}`, headers)).status).toBe(204);
    expect((await account.api.delete(`/browser-origins/${id}`)).status).toBe(404);
    const events = await service.eventsOf(`account-${account.customerId}`);
    expect(
      events.filter(({ type, data }) => type === 'BrowserOriginRemoved' && data['originId'] === id),
    ).toHaveLength(1);
  });

  it('of another account is the same as of none', async () => {
    const other = await service.openAccount();
    const { id } = await register(other.api, 'https://theirs.example.com');
    const foreign = await account.api.delete(`/browser-origins/${id}`);
    expect(refusalOf(foreign)).toEqual(notFound());
    for (const none of ['none', 'constructor', '__proto__']) {
      expect((await account.api.delete(`/browser-origins/${none}`)).text).toBe(foreign.text);
    }
    expect(await listed(other.api)).toHaveLength(1);
  });

  it('is in the history of the origin, and in the audit log', async () => {
    const { api, customerId } = await service.openAccount();
    const { id } = await register(api, 'https://history.example.com');
    await api.delete(`/browser-origins/${id}`);
    const history = await api.get<{ events: readonly { type: string; userId: string }[] }>(
      `/browser-origins/${id}/history`,
    );
    expect(history.body.data.events.map(({ type }) => type)).toEqual([
      'BrowserOriginRegistered',
      'BrowserOriginRemoved',
    ]);
    const audit = await api.get<{ logs: readonly object[] }>('/audit-logs?resourceTypes=BROWSER_ORIGIN');
    expect(audit.body.data.logs).toEqual([
      expect.objectContaining({ action: 'BrowserOriginRemoved', resourceId: id, userId: `${customerId}-1` }),
      expect.objectContaining({
        action: 'BrowserOriginRegistered',
        resourceId: id,
        resourceName: 'https://history.example.com',
      }),
    ]);
  });
});

describe('a service in production', () => {
  it('accepts no http origin', async () => {
    const port = await freePort();
    const production = await startRunningService({
      NODE_ENV: 'production',
      BASE_URL: 'https://exchange.example.com',
      PORT: String(port),
    });
    try {
      const { apiKey } = await production.openAccount();
      const api = apiOf(`http://127.0.0.1:${port}`, { Authorization: `Bearer ${apiKey}` });
      const refused = await api.post('/browser-origins', { origin: 'http://localhost:5173' });
      expect(refusalOf(refused)).toEqual(invalid('origin'));
    } finally {
      await production.stop();
    }
  });
});
