import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../src/domain/advertisers/advertiser-resource.ts';
import { setAccess } from '../../src/operator/accounts.ts';
import { getAdvertisers } from '../../src/query/advertisers/get-advertisers.ts';
import { createLog } from '../../src/shared/log.ts';
import { createPool } from '../../src/shared/postgres/pool.ts';
import { createTenantDatabase } from '../../src/shared/postgres/tenant-database.ts';
import { prepareBinding } from '../../src/shared/postgres/tenant-query.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { stripTenants } from '../support/strip-tenants.ts';

/**
 * Two accounts, and every route of the service as `/openapi.json` lists them: whatever one account names of the
 * other's looks as if it had never been. A route without a row here fails. Then the same again with the account
 * taken out of every query: the database alone keeps them apart (docs/access.md).
 */

/** What an account has, by the kind of thing that a route refers to. */
interface Belongings {
  readonly advertiser: string;
  readonly archived: string;
  readonly apiKey: string;
}
type Kind = keyof Belongings;

interface Row {
  /** What its path refers to: each kind is tried in turn. */
  readonly refersTo?: readonly Kind[];
  readonly body?: (belongings: Belongings, stranger: TestAccount) => object;
}

const rows: Readonly<Record<string, Row>> = {
  listAdvertisers: {},
  createAdvertiser: {
    body: ({ advertiser }, { customerId }) => ({ name: 'Mine', customerId, id: Number(advertiser) }),
  },
  getAdvertiser: { refersTo: ['advertiser', 'archived'] },
  updateAdvertiser: { refersTo: ['advertiser', 'archived'], body: () => ({ name: 'Taken over' }) },
  deleteAdvertiser: { refersTo: ['advertiser', 'archived'] },
  restoreAdvertiser: { refersTo: ['advertiser', 'archived'] },
  listApiKeys: {},
  createApiKey: { body: (_, { customerId }) => ({ name: 'Mine', customerId, userId: `${customerId}-1` }) },
  revokeApiKey: { refersTo: ['apiKey'] },
  getCurrentAccount: {},
};

const never: Belongings = { advertiser: '2147483647', archived: '2147483647', apiKey: 'aaaaaaaaaaaaaaaa' };

interface Operation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly scope: string;
}

const operationsOf = async ({ baseUrl }: RunningService): Promise<readonly Operation[]> => {
  const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { operationId: string; security: { bearer: string[] }[] }>>;
  };
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { operationId, security }]) => {
      const scope = security[0]?.bearer[0];
      return scope === undefined ? [] : [{ operationId, method: method.toUpperCase(), path, scope }];
    }),
  );
};

const stripping = stripTenants();

describe.each([
  ['as it ships', undefined],
  ['with every predicate of an account removed', stripping],
] as const)('two accounts, %s', (_how, strip) => {
  let service: RunningService;
  let operations: readonly Operation[];
  let a: TestAccount;
  let b: TestAccount;
  let theirs: Belongings;
  beforeAll(async () => {
    const replace = strip === undefined ? {} : { tenantStatement: strip.rewrite };
    service = await startRunningService({}, createLog('silent'), replace);
    operations = await operationsOf(service);
    a = await service.openAccount('A');
    b = await service.openAccount('B');
    await a.api.post('/advertisers', { name: 'A1' });
    theirs = await belongingsOf(b);
  });
  afterAll(() => service.stop());

  const belongingsOf = async ({ api }: TestAccount): Promise<Belongings> => {
    const ids: string[] = [];
    for (const name of ['B1', 'B2']) {
      ids.push(String((await api.post<AdvertiserResource>('/advertisers', { name })).body.data.id));
    }
    expect((await api.delete(`/advertisers/${ids[1]}`)).status).toBe(204);
    const key = await api.post<{ id: string }>('/api-keys', { name: 'B' });
    return { advertiser: ids[0] ?? '', archived: ids[1] ?? '', apiKey: key.body.data.id };
  };

  const send = async (
    { method, path }: Operation,
    headers: Readonly<Record<string, string>>,
    id = '',
    body?: object,
  ): Promise<{ readonly status: number; readonly text: string }> => {
    const answer = await fetch(service.baseUrl + path.replace(/\{\w+\}/, id), {
      method,
      headers: { 'Content-Type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const as = (apiKey: string) => ({ Authorization: `Bearer ${apiKey}` });

  /** All that belongs to an account: its events, and what it sees. */
  const everythingOf = async (account: TestAccount): Promise<string> =>
    JSON.stringify([
      await service.eventsOfAccount(account),
      (await account.api.get('/advertisers?status=ALL')).text,
      (await account.api.get('/api-keys')).text.replaceAll(/"lastUsedAt":"[^"]+"/g, ''),
    ]);

  it('every route has a row', () => {
    expect(operations.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(rows).sort());
  });

  it("another account's things look like things that never were, and nothing is written", async () => {
    const before = [await service.store.head(), await everythingOf(b)];
    let probes = 0;
    for (const operation of operations) {
      const { refersTo = [], body } = rows[operation.operationId] ?? {};
      for (const kind of refersTo) {
        for (const extra of [{}, { 'X-Customer-Id': String(b.customerId) }]) {
          const headers = { ...as(a.apiKey), ...extra };
          const foreign = await send(operation, headers, theirs[kind], body?.(theirs, b));
          const absent = await send(operation, headers, never[kind], body?.(theirs, b));
          expect([operation.operationId, kind, foreign]).toEqual([
            operation.operationId,
            kind,
            { status: 404, text: absent.text },
          ]);
          probes += 1;
        }
      }
    }
    expect([await service.store.head(), await everythingOf(b)]).toEqual(before);
    console.log(`${_how}: ${probes} references to another account's things`);
  });

  it('lists hold what is of the account, and count no other', async () => {
    const advertisers = await a.api.get<AdvertiserResource[]>(
      `/advertisers?status=ALL&customerId=${b.customerId}`,
    );
    expect(advertisers.body.data.map(({ name, customerId }) => [name, customerId])).toEqual([
      ['A1', a.customerId],
    ]);
    expect(advertisers.body.meta.pagination.total).toBe(1);
    expect((await a.api.get('/advertisers?name=B')).body.meta.pagination.total).toBe(0);
    const keys = await a.api.get('/api-keys');
    expect(keys.body.meta.pagination.total).toBe(1);
    expect(keys.text).not.toContain(theirs.apiKey);
    const current = await fetch(`${service.baseUrl}/api/v2/accounts/current`, { headers: as(a.apiKey) });
    expect(await current.json()).toMatchObject({ data: { id: a.customerId, company: 'A' } });
  });

  it('what is created belongs to who creates it, whatever the body says', async () => {
    const before = await everythingOf(b);
    const mine = await service.openAccount('C');
    for (const operation of operations.filter(({ operationId }) => operationId.startsWith('create'))) {
      const answer = await send(
        operation,
        as(mine.apiKey),
        '',
        rows[operation.operationId]?.body?.(theirs, b),
      );
      expect([operation.operationId, answer.status]).toEqual([operation.operationId, 201]);
      const events = await service.eventsOfAccount(mine);
      expect(events.at(-1)?.stream).toMatch(new RegExp(`-${mine.customerId}(-\\d+)?$`));
    }
    expect(await everythingOf(b)).toBe(before);
  });

  it("another account's Idempotency-Key is a key like any other", async () => {
    const headers = { 'Idempotency-Key': 'the-same-key-in-two-accounts' };
    const first = await b.api.post<AdvertiserResource>('/advertisers', { name: 'B3' }, headers);
    const second = await a.api.post<AdvertiserResource>('/advertisers', { name: 'A2' }, headers);
    expect([second.status, second.body.data.name, second.headers.get('idempotent-replayed')]).toEqual([
      201,
      'A2',
      null,
    ]);
    expect(second.body.data.id).not.toBe(first.body.data.id);
  });

  it('no route takes a credential that is none, none any more, or too little', async () => {
    const key = async (body: object): Promise<{ id: string; key: string }> =>
      (await b.api.post<{ id: string; key: string }>('/api-keys', { name: 'x', ...body })).body.data;
    const revoked = await key({});
    await b.api.delete(`/api-keys/${revoked.id}`);
    const expiresAt = new Date(Date.now() + 300).toISOString();
    const expired = await key({ expiresAt });
    const closed = await service.openAccount('Closed');
    await setAccess(service.backbone, closed.customerId, 'disabled');
    while (Date.now() < Date.parse(expiresAt) + 50) await new Promise((done) => setTimeout(done, 50));
    const narrow = new Map<string, string>();
    for (const scope of ['exchange:read', 'exchange:write', 'exchange:admin']) {
      const others = ['exchange:read', 'exchange:write', 'exchange:admin'].filter((one) => one !== scope);
      narrow.set(scope, (await key({ scopes: others })).key);
    }
    const credentials: Record<string, Record<string, string>> = {
      none: {},
      basic: { Authorization: 'Basic dXNlcjpwYXNz' },
      cookie: { Cookie: `__Host-sc_session=${b.apiKey}` },
      malformed: as('nonsense'),
      unknown: as(`bx_${'a'.repeat(16)}_${'b'.repeat(43)}`),
      otherSecret: as(`bx_${theirs.apiKey}_${b.apiKey.slice(-43)}`),
      revoked: as(revoked.key),
      expired: as(expired.key),
      disabledAccount: as(closed.apiKey),
    };
    const before = [await service.store.head(), await everythingOf(b)];
    const bodies = new Set<string>();
    for (const operation of operations) {
      const { refersTo: [kind] = [], body } = rows[operation.operationId] ?? {};
      const id = kind === undefined ? '' : theirs[kind];
      for (const [name, headers] of Object.entries(credentials)) {
        const overridden = { ...headers, 'X-HTTP-Method-Override': 'GET' };
        const answer = await send(operation, overridden, id, body?.(theirs, b));
        expect([operation.operationId, name, answer.status]).toEqual([operation.operationId, name, 401]);
        if (!['none', 'basic', 'cookie'].includes(name)) bodies.add(answer.text);
      }
      const weak = await send(operation, as(narrow.get(operation.scope) ?? ''), id, body?.(theirs, b));
      expect([operation.operationId, weak.status, JSON.parse(weak.text)]).toMatchObject([
        operation.operationId,
        403,
        { error: { code: 'FORBIDDEN', details: { scope: operation.scope } } },
      ]);
      if (operation.method === 'GET') {
        const head = { ...operation, method: 'HEAD' };
        expect((await send(head, credentials['revoked'] ?? {}, id)).status).toBe(401);
      }
    }
    expect(bodies.size).toBe(1);
    expect([await service.store.head(), await everythingOf(b)]).toEqual(before);
  });

  if (strip === undefined) return;
  it('the predicates were gone, and without the policies everything would have leaked', async () => {
    expect([...strip.untouched]).toEqual(['api-key-insert']);
    expect([...strip.stripped].sort()).toEqual(
      expect.arrayContaining(['api-key-revoke', 'current-account', 'get-advertisers', 'list-api-keys']),
    );
    const pool = createPool(
      {
        connectionString: service.databaseUrl,
        applicationName: 'unbound',
        max: 1,
        system: true,
        verify: async (client) => void (await client.query(prepareBinding)),
      },
      createLog('silent'),
    );
    const leaking = getAdvertisers(createTenantDatabase(pool, strip.rewrite), 'advertisers');
    const row = await leaking({ customerId: a.customerId, id: Number(theirs.advertiser) });
    expect(row.body).toContain('B1');
    await pool.end();
  });
});
