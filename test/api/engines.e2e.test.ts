import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { findLiveConnection } from '../../command/engines/handler.ts';
import { slotIdOf } from '../../command/engines/handler.ts';
import { connectEngine, type ConnectionWrites } from '../../command/engines/commands.ts';
import { askSandboxEngine } from '../../command/engines/sandbox-engine.ts';
import { createVerifyKey } from '../../command/engines/verify-key.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { findSecretsInUse } from '../../app/lookups/secrets-in-use.ts';
import { createOrphanSecrets } from '../../command/secrets/orphan-secrets.ts';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { shownConnectionId, type EngineConnectionResource } from '../../domain/engines/resource.ts';
import { ENGINE_CONNECTION, engineConnectionStream } from '../../domain/engines/engine-connection.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { fingerprintOf } from '../../shared/idempotency/request-fingerprint.ts';
import type { Logger } from 'pino';
import { createLog } from '../../app/log.ts';
import { parseKeyRing } from '../../shared/secrets/key-ring.ts';
import { reEncryptSecrets } from '../../shared/secrets/re-encrypt-secrets.ts';
import { createSecretStore } from '../../shared/secrets/secret-store.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { commandRequest } from '../support/command-request.ts';
import { conflict, invalid, notFound, refusalOf } from '../support/api-client.ts';
import { noSnapshots, processOf } from '../support/two-processes.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
});
afterAll(() => service.stop());

const KEY = 'sbx_the-key-of-a-buyer-1234';
const NEVER = `con_${'0'.repeat(32)}`;
const connections = (engine = 1) => `/creative-engines/${engine}/connections`;
const connect = (
  { api }: TestAccount,
  body: object = {},
  {
    engine = 1,
    query = '',
    headers = {},
  }: { engine?: number; query?: string; headers?: Record<string, string> } = {},
) => api.post<EngineConnectionResource>(connections(engine) + query, { apiKey: KEY, ...body }, headers);
const listed = async ({ api }: TestAccount, query = '', engine = 1) => {
  const answer = await api.get<EngineConnectionResource[]>(connections(engine) + query);
  expect(answer.status).toBe(200);
  return answer.body.data;
};
const select = ({ api }: TestAccount, id: string, accountId: string) =>
  api.post<EngineConnectionResource>(`${connections()}/${id}/accounts/${accountId}/select`);
const map = ({ api }: TestAccount, id: string, accountId: string, advertiserId: unknown, headers = {}) =>
  api.post<EngineConnectionResource>(
    `${connections()}/${id}/accounts/${accountId}/advertiser`,
    { advertiserId },
    headers,
  );
const advertiserOf = async ({ api }: TestAccount, name: string): Promise<number> =>
  (await api.post<AdvertiserResource>('/advertisers', { name })).body.data.id;
const eventsAt = ({ customerId }: TestAccount, engine = 1) =>
  service.eventsOf(engineConnectionStream(customerId, slotIdOf(customerId, engine)));
const secretsOf = async ({ customerId }: TestAccount): Promise<readonly string[]> => {
  const { rows } = await service.pool.query<{ id: string }>('select id from secrets where customer_id = $1', [
    customerId,
  ]);
  return rows.map(({ id }) => id);
};
/** Equal to the ring of `startRunningService`. */
const RING = `test:${'A'.repeat(43)}`;
const keptKey = async ({ customerId }: TestAccount) => {
  const [id = ''] = await secretsOf({ customerId } as TestAccount);
  return createSecretStore(service.pool, async () => parseKeyRing(RING)).get(customerId, id);
};

const otherNode = (): ConnectionWrites => ({
  store: processOf(service.store, () => randomInt(8)),
  snapshots: noSnapshots,
  clock: systemClock,
  log: createLog('silent'),
  secrets: createSecretStore(service.pool, async () => parseKeyRing(RING)),
  verifyKey: createVerifyKey({ engines: new Map([[1, askSandboxEngine]]), timeoutMs: 1_000 }),
});

describe('the directory', () => {
  it('lists engines by number', async () => {
    const { body } = await account.api.get<{ id: number; name: string }[]>('/creative-engines?take=2&skip=1');
    expect([body.data.map(({ id }) => id), body.meta.pagination]).toEqual([
      [2, 3],
      { skip: 1, take: 2, total: 3, hasMore: false },
    ]);
    const sandbox = await account.api.get('/creative-engines/1');
    expect(sandbox.body.data).toMatchObject({
      id: 1,
      name: 'Sandbox Engine',
      requiresAdvertiserMapping: true,
    });
    for (const path of ['/creative-engines/4', connections(4)]) {
      expect(refusalOf(await account.api.get(path))).toEqual(notFound());
    }
    expect(refusalOf(await connect(account, {}, { engine: 4 }))).toEqual(notFound());
    expect(refusalOf(await account.api.get('/creative-engines/2147483648'))).toEqual(invalid('id'));
  });
});

describe('a connection', () => {
  it('is created, shown, given another key and ended; its key stays encrypted until then', async () => {
    const mine = await service.openAccount();
    expect(await listed(mine)).toEqual([]);
    const made = await connect(mine, { apiKey: `  ${KEY}\n` });
    expect([made.status, made.body.data]).toEqual([
      201,
      {
        id: expect.stringMatching(/^con_[0-9a-f]{32}$/),
        target: { kind: 'creative_engine', id: '1' },
        engineName: 'Sandbox Engine',
        status: 'connected',
        credential: { kind: 'BEARER', status: 'ACTIVE', maskedKey: '****1234' },
        accounts: [1, 2, 3].map((n) => ({ id: `sandbox-${n}`, name: expect.any(String) })),
        accountsPage: { offset: 0 },
        accountMappings: [],
        accountMappingsPage: { offset: 0 },
        requiresAdvertiserMapping: true,
        featurePolicy: { feedsEnabled: false, updatedAt: made.body.data.createdAt },
        connectedBy: expect.stringMatching(/^api-key:/),
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    ]);
    const { id } = made.body.data;
    expect(await listed(mine)).toEqual([made.body.data]);
    expect(await listed(mine, '?skip=1')).toEqual([]);
    expect(await keptKey(mine)).toBe(KEY);

    const [before] = await secretsOf(mine);
    for (const body of [{}, { connectionId: id }]) {
      const again = await connect(mine, { ...body, apiKey: 'sbx_another' });
      expect([again.status, again.body.data]).toEqual([
        200,
        {
          ...made.body.data,
          credential: { kind: 'BEARER', status: 'ACTIVE', maskedKey: '********' },
          updatedAt: expect.any(String),
        },
      ]);
    }
    expect([(await secretsOf(mine)).includes(before ?? ''), await keptKey(mine)]).toEqual([
      false,
      'sbx_another',
    ]);

    const stores = { store: service.store, snapshots: noSnapshots };
    expect((await findLiveConnection(stores, mine.customerId, id))?.engineId).toBe(1);
    expect(await findLiveConnection(stores, account.customerId, id)).toBeUndefined();
    expect((await mine.api.delete(`${connections()}/${id}`)).status).toBe(204);
    expect([await listed(mine), await secretsOf(mine)]).toEqual([[], []]);
    expect(await findLiveConnection(stores, mine.customerId, id)).toBeUndefined();
    expect(refusalOf(await connect(mine, { connectionId: id }))).toEqual(notFound('connectionId'));
    expect(refusalOf(await mine.api.delete(`${connections()}/${id}`))).toEqual(notFound());
    const next = await connect(mine);
    expect([next.status, next.body.data.id === id]).toEqual([201, false]);
  });

  it('to an engine without a verifier accepts any key', async () => {
    const made = await connect(account, { apiKey: 'any' }, { engine: 3 });
    expect([made.status, made.body.data]).toMatchObject([
      201,
      {
        target: { id: '3' },
        credential: { status: 'ACTIVE' },
        accounts: [],
        requiresAdvertiserMapping: false,
      },
    ]);
    expect((await listed(account, '', 3))[0]?.id).toBe(made.body.data.id);
    expect(refusalOf(await connect(account, { connectionId: made.body.data.id }))[0]).toBe(404);
  });

  it.each([
    ['a key that the engine does not take', 'apiKey', { apiKey: 'not-of-the-sandbox' }, 400],
    ['no key', 'apiKey', { apiKey: undefined }, 400],
    ['a key of blanks', 'apiKey', { apiKey: '   ' }, 400],
    ['a key of two words', 'apiKey', { apiKey: 'sbx_two words' }, 400],
    ['a key that is too long', 'apiKey', { apiKey: `sbx_${'x'.repeat(4_093)}` }, 400],
    ['a key that is not a string', 'apiKey', { apiKey: ['sbx_1'] }, 400],
    ['an empty connection', 'connectionId', { connectionId: '' }, 400],
    ['an unknown connection', 'connectionId', { connectionId: NEVER }, 404],
    ['a text that is not a connection id', 'connectionId', { connectionId: 'anything' }, 404],
  ])('is refused with %s, and no secret is stored', async (_, field, body, status) => {
    const mine = await service.openAccount();
    const answer = await connect(mine, body);
    expect([answer.status, answer.body.error?.field]).toEqual([status, field]);
    expect(answer.text).not.toContain('sbx_');
    expect(answer.text).not.toContain('not-of-the-sandbox');
    expect([await eventsAt(mine), await secretsOf(mine)]).toEqual([[], []]);
  });

  it('is created once, however many requests on several nodes create it', async () => {
    const mine = await service.openAccount();
    const elsewhere = otherNode();
    const answers = await Promise.all(
      Array.from({ length: 16 }, async (_, n) => {
        const apiKey = `sbx_key-${n}-of-16`;
        if (n % 2 === 0) {
          const { status, body } = await connect(mine, { apiKey });
          return { isNew: status === 201, id: body.data.id };
        }
        const asked = { engineId: 1, apiKey };
        const { isNew, connection } = await connectEngine(elsewhere, asked, commandRequest(mine.customerId));
        return { isNew, id: shownConnectionId(connection.connectionId) };
      }),
    );
    expect(answers.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    const [live] = await listed(mine);
    const events = await eventsAt(mine);
    expect([live?.id, events.length]).toEqual([answers[0]?.id, 16]);
    // For the latest key only.
    expect(await secretsOf(mine)).toEqual([
      z.object({ secretId: z.string() }).parse(events.at(-1)?.data).secretId,
    ]);
    expect((await keptKey(mine))?.slice(-4)).toBe(live?.credential.maskedKey.slice(-4));
  });
});

describe('a repeat with the same Idempotency-Key', () => {
  const headers = { 'Idempotency-Key': 'connect-once-and-no-more' };

  it('has the first answer, even if the connection has changed; another engine key is another request', async () => {
    const mine = await service.openAccount();
    const first = await connect(mine, {}, { headers });
    expect(refusalOf(await connect(mine, { apiKey: 'sbx_another' }, { headers }))[1]).toBe(
      'IDEMPOTENCY_CONFLICT',
    );
    await connect(mine, { apiKey: 'sbx_another' });
    await service.pool.query(
      'update idempotency_keys set completed_at = null, status = null, body = null, lease_until = now() where scope = $1',
      [String(mine.customerId)],
    );
    const again = await connect(mine, {}, { headers });
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect([await keptKey(mine), (await eventsAt(mine)).length]).toEqual(['sbx_another', 2]);
  });

  it('keeps its own engine key when an earlier run with another one resumes after it', async () => {
    const mine = await service.openAccount();
    const node = otherNode();
    const [first, second] = [false, true].map((hasRunBefore) =>
      commandRequest(mine.customerId, '00000000-0000-4000-8000-00000000c0de', hasRunBefore),
    ) as [RequestContext, RequestContext];
    const stalled: ConnectionWrites = {
      ...node,
      verifyKey: async (...asked) => {
        await connectEngine(node, { engineId: 1, apiKey: 'sbx_second' }, second);
        return node.verifyKey(...asked);
      },
    };
    await connectEngine(stalled, { engineId: 1, apiKey: 'sbx_first' }, first);
    const [connected, ...others] = await eventsAt(mine);
    const { secretId } = z.object({ secretId: z.string() }).parse(connected?.data);
    expect([others, await node.secrets.get(mine.customerId, secretId)]).toEqual([[], 'sbx_second']);
  });

  it('is recognised by a fingerprint that only the installation can compute', async () => {
    const mine = await service.openAccount();
    const apiKey = 'sbx_1';
    await connect(mine, { apiKey }, { headers });
    const { rows } = await service.pool.query<{ fingerprint: Buffer }>(
      'select fingerprint from idempotency_keys where scope = $1',
      [String(mine.customerId)],
    );
    const request = { method: 'post', path: '/api/v2/buyer/creative-engines/{id}/connections' };
    const plain = fingerprintOf({ ...request, pathValues: { id: '1' }, body: { apiKey } });
    expect(rows.map(({ fingerprint }) => [fingerprint.length, fingerprint.equals(plain)])).toEqual([
      [32, false],
    ]);
  });
});

describe('accounts at the engine', () => {
  it('are selected and mapped to advertisers, which have their current names', async () => {
    const mine = await service.openAccount();
    const { id } = (await connect(mine)).body.data;
    const [one, two] = [await advertiserOf(mine, 'One'), await advertiserOf(mine, 'Two')];
    const chosen = await select(mine, id, 'sandbox-2');
    expect([chosen.status, chosen.body.data.selectedAccountId]).toEqual([200, 'sandbox-2']);
    expect((await select(mine, id, 'sandbox-2')).text).toBe(chosen.text);

    const mapped = await map(mine, id, 'sandbox-1', one);
    const link = {
      linkId: expect.stringMatching(/^lnk_/),
      advertiserId: String(one),
      advertiserName: 'One',
      accountId: 'sandbox-1',
    };
    expect([mapped.status, mapped.body.data.accountMappings]).toEqual([201, [link]]);
    expect((await map(mine, id, 'sandbox-1', one)).text).toBe(mapped.text);
    expect((await map(mine, id, 'sandbox-2', two)).body.data.requiresAdvertiserMapping).toBe(true);
    const all = (await map(mine, id, 'sandbox-3', two)).body.data;
    expect(all.requiresAdvertiserMapping).toBe(false);
    await mine.api.put(`/advertisers/${two}`, { name: 'Two and a half' });
    const [shown] = await listed(mine);
    expect(shown?.accountMappings.map(({ advertiserName }) => advertiserName)).toEqual([
      'One',
      'Two and a half',
      'Two and a half',
    ]);
    // Another engine key, which has access to one account only.
    const fewer = await connect(mine, { apiKey: 'sbx_accounts-1_x' });
    expect(fewer.body.data).toMatchObject({ id, accountMappings: [link], requiresAdvertiserMapping: false });
    expect(fewer.body.data.selectedAccountId).toBeUndefined();
  });

  it('are 404 under an unknown name, and cannot be mapped to an archived or unknown advertiser', async () => {
    const mine = await service.openAccount();
    const { id } = (await connect(mine)).body.data;
    const own = await advertiserOf(mine, 'Own');
    const gone = await advertiserOf(mine, 'Gone');
    const foreign = await advertiserOf(account, 'Foreign');
    const headers = { 'Idempotency-Key': 'mapped-before-it-was-archived' };
    const before = await map(mine, id, 'sandbox-1', gone, headers);
    await mine.api.delete(`/advertisers/${gone}`);
    const events = await eventsAt(mine);
    expect((await map(mine, id, 'sandbox-1', gone, headers)).text).toBe(before.text);
    expect(refusalOf(await map(mine, id, 'sandbox-2', gone))).toEqual(conflict());
    const never = await map(mine, id, 'sandbox-2', 2_147_483_647);
    expect(refusalOf(never)).toEqual(notFound('advertiserId'));
    expect((await map(mine, id, 'sandbox-2', foreign)).text).toBe(never.text);
    for (const none of ['1', 0, null, 2_147_483_648]) {
      expect(refusalOf(await map(mine, id, 'sandbox-2', none))).toEqual(invalid('advertiserId'));
    }
    for (const [connection, accountId] of [
      [id, 'sandbox-4'],
      [NEVER, 'sandbox-1'],
      ['x', 'sandbox-1'],
    ] as const) {
      expect((await select(mine, connection, accountId)).status).toBe(404);
      expect((await map(mine, connection, accountId, own)).status).toBe(404);
    }
    expect(await eventsAt(mine)).toEqual(events);
  });

  it('are paged', async () => {
    const mine = await service.openAccount();
    const apiKey = 'sbx_accounts-60_x';
    const made = (await connect(mine, { apiKey })).body.data;
    expect([made.accounts.length, made.accountsPage]).toEqual([50, { offset: 0, nextOffset: 50 }]);
    const second = (await connect(mine, { apiKey }, { query: '?accountsOffset=50' })).body.data;
    expect([second.accounts.length, second.accountsPage]).toEqual([10, { offset: 50 }]);
    const [behind] = await listed(mine, '?accountsOffset=9007199254740991&mappingsOffset=1');
    expect([behind?.accounts, behind?.accountsPage, behind?.accountMappingsPage]).toEqual([
      [],
      { offset: Number.MAX_SAFE_INTEGER },
      { offset: 1 },
    ]);
    for (const name of ['accountsOffset', 'mappingsOffset']) {
      const refused = await mine.api.get(`${connections()}?${name}=-1`);
      expect(refusalOf(refused)).toEqual(invalid(name));
    }
  });
});

describe('a key', () => {
  it('appears in no table and no event, also after failures', async () => {
    const mine = await service.openAccount();
    const apiKey = `sbx_${randomBytes(24).toString('base64url')}`;
    const wrong = `wrong_${apiKey}`;
    for (const key of [apiKey, wrong]) await connect(mine, { apiKey: key });
    await connect(mine, { apiKey }, { headers: { 'Idempotency-Key': 'a-key-whose-row-holds-no-key' } });
    const tables = await service.pool.query<{ table_name: string }>(
      `select table_name from information_schema.tables where table_schema = 'public'`,
    );
    for (const { table_name } of tables.rows) {
      const { rows } = await service.pool.query<{ n: number }>(
        `select count(*)::int as n from ${table_name} t where t::text like '%' || $1 || '%'`,
        [apiKey],
      );
      expect([table_name, rows[0]?.n]).toEqual([table_name, 0]);
    }
    expect(JSON.stringify(await service.eventsOfAccount(mine))).not.toContain(apiKey);
  });

  it('without a connection is swept; the key of a connection stays', async () => {
    const mine = await service.openAccount();
    await connect(mine);
    const [live] = await secretsOf(mine);
    const secrets = createSecretStore(service.pool, async () => parseKeyRing(RING));
    const owner = { kind: ENGINE_CONNECTION, id: slotIdOf(mine.customerId, 1) };
    const [replaced, later] = [
      '00000000-0000-4000-8000-000000000001',
      '00000000-0000-4000-8000-000000000002',
    ];
    await secrets.put(mine.customerId, replaced, 'sbx_x', owner);
    await secrets.put(mine.customerId, later, 'x', { kind: 'of a later version', id: owner.id });
    // A later version that runs at the same time names the key of a connection differently.
    const unknown = '00000000-0000-4000-8000-000000000003';
    const slotId = slotIdOf(mine.customerId, 2);
    await connect(mine, {}, { engine: 2 });
    const [connected] = await eventsAt(mine, 2);
    if (connected === undefined) throw new Error('not connected');
    const { data, metadata } = connected;
    await service.store.append(
      engineConnectionStream(mine.customerId, slotId),
      [{ id: randomUUID(), type: 'OfALaterVersion', data: { ...data, secretId: unknown }, metadata }],
      connected.revision,
    );
    await secrets.put(mine.customerId, unknown, 'x', { kind: ENGINE_CONNECTION, id: slotId });
    // Its stream cannot be read; the secrets after it are still swept.
    const unreadable = '00000000-0000-4000-8000-000000000000';
    const broken = slotIdOf(mine.customerId, 3);
    await secrets.put(mine.customerId, unreadable, 'x', { kind: ENGINE_CONNECTION, id: broken });
    const store: EventStore = {
      ...service.store,
      readStream: (stream, ...options) => {
        if (stream.endsWith(broken)) throw new Error('broken');
        return service.store.readStream(stream, ...options);
      },
    };
    const warnings: unknown[] = [];
    const log = { warn: (of: unknown) => void warnings.push(of) } as Pick<Logger, 'warn'>;
    await service.pool.query(`update secrets set created_at = now() - interval '2 hours'`);
    // The read model may lag or be in a rebuild.
    await service.pool.query('delete from engine_connections where customer_id = $1', [mine.customerId]);
    const sweep = createOrphanSecrets(
      { pool: service.pool, log, store, snapshots: noSnapshots, clock: systemClock },
      findSecretsInUse(service.pool),
    );
    await sweep.purge(1_000);
    const left = new Set(await secretsOf(mine));
    expect(left).toEqual(new Set([live, later, data['secretId'], unknown, unreadable]));
    expect(warnings).toMatchObject([{ secretId: unreadable, ownerId: broken }]);
  });

  it("is encrypted with the installation's new key while it is used, and then no longer needs the old one", async () => {
    const ring = (...ids: string[]) => parseKeyRing(ids.map((id) => `${id}:${'A'.repeat(42)}${id}`).join());
    const storeOf = (...ids: string[]) => createSecretStore(service.pool, async () => ring(...ids));
    const { customerId } = await service.openAccount();
    const owner = { kind: 'of this test', id: randomUUID() };
    const ids = Array.from({ length: 450 }, () => randomUUID());
    const old = storeOf('A');
    await Promise.all(ids.map((id, n) => old.put(customerId, id, `secret ${n}`, owner)));
    const [replaced = '', removed = '', unread = ''] = ids;
    await service.pool.query(`update secrets set key_id = 'lost' where id = $1`, [unread]);

    // Between its read and its write, one secret is replaced and another one deleted.
    let meanwhile: (() => Promise<void>) | undefined = async () => {
      await old.put(customerId, replaced, 'another', owner);
      await old.remove(customerId, removed);
    };
    const pool = {
      query: async (...asked: [string, unknown[]]) => {
        if (asked[0].startsWith('update')) await meanwhile?.();
        if (asked[0].startsWith('update')) meanwhile = undefined;
        return service.pool.query(...asked);
      },
    } as unknown as Pick<typeof service.pool, 'query'>;
    const first = reEncryptSecrets(pool, ring('E', 'A'), 100);
    await first.next();
    await first.return(undefined);
    const needed: Record<string, number> = {};
    for await (const page of reEncryptSecrets(pool, ring('E', 'A'), 100)) {
      for (const [id, count] of Object.entries(page.needed)) needed[id] = (needed[id] ?? 0) + count;
    }
    expect([needed['A'], needed['E'], needed['lost']]).toEqual([undefined, 448, 1]);
    const left = await service.pool.query<{ key: string; count: number }>(
      'select key_id as key, count(*)::int as count from secrets where customer_id = $1 group by 1 order by 1',
      [customerId],
    );
    expect(left.rows).toEqual([
      { key: 'E', count: 448 },
      { key: 'lost', count: 1 },
    ]);
    const texts = await Promise.all(ids.slice(3).map((id) => storeOf('E').get(customerId, id)));
    expect(texts).toEqual(ids.slice(3).map((_, n) => `secret ${n + 3}`));
    expect(await storeOf('E').get(customerId, replaced)).toBe('another');
    expect(await storeOf('E').get(customerId, removed)).toBeUndefined();
  });
});
