import { randomUUID } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { findSecretsInUse } from '../../app/lookups/secrets-in-use.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { createOrphanSecrets } from '../../command/secrets/orphan-secrets.ts';
import { agentIdOf, type AgentResource } from '../../domain/agents/resource.ts';
import { agentStream } from '../../domain/agents/agent.ts';
import { createLog } from '../../app/log.ts';
import { fingerprintOf } from '../../shared/idempotency/request-fingerprint.ts';
import { invalid, refusalOf } from '../support/api-client.ts';
import { hostileUrls } from '../support/hostile-urls.ts';
import { noSnapshots } from '../support/two-processes.ts';
import { until } from '../support/until.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
});
beforeAll(async () => {
  account = await service.openAccount();
});
afterAll(() => service.stop());

const TOKEN = 'agent-token-that-must-never-be-seen';
const agent = {
  name: 'Social',
  url: 'https://agent.example.com/mcp',
  protocol: 'MCP',
  auth: { type: 'bearer', token: TOKEN },
  accountId: 'acct-9',
};
const register = (more: object = {}, headers: Record<string, string> = {}) =>
  account.api.post<AgentResource>('/adcp-agents', { ...agent, ...more }, headers);

describe('an agent', () => {
  it('is registered, read, listed and deleted', async () => {
    const created = await register();
    expect([created.status, created.body.data]).toEqual([
      201,
      {
        id: expect.stringMatching(/^agt_[0-9a-f]{32}$/),
        name: 'Social',
        url: 'https://agent.example.com/mcp',
        protocol: 'MCP',
        status: 'ACTIVE',
        accountId: 'acct-9',
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    ]);
    const { id } = created.body.data;
    expect((await account.api.get(`/adcp-agents/${id}`)).body.data).toEqual(created.body.data);
    for (const path of ['/adcp-agents', '/sales-agents']) {
      const list = await account.api.get<AgentResource[]>(path);
      expect(list.body.data).toEqual([created.body.data]);
      expect(list.body.meta.pagination).toEqual({ skip: 0, take: 50, total: 1, hasMore: false });
    }
    expect((await account.api.delete(`/adcp-agents/${id}`)).status).toBe(204);
    expect((await account.api.get(`/adcp-agents/${id}`)).status).toBe(404);
    expect((await account.api.delete(`/adcp-agents/${id}`)).status).toBe(404);
    expect((await account.api.get('/adcp-agents')).body.meta.pagination.total).toBe(0);
  });

  it('is registered once, however often the request is repeated', async () => {
    const headers = { 'Idempotency-Key': 'register-once-and-no-more' };
    const first = await register({ name: 'Once' }, headers);
    const again = await register({ name: 'Once' }, headers);
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
  });

  it('has its token encrypted, never shown, and deleted with the agent', async () => {
    const headers = { 'Idempotency-Key': 'a-key-whose-row-holds-no-token' };
    const { id } = (await register({}, headers)).body.data;
    const tables = await service.pool.query<{ table_name: string }>(
      `select table_name from information_schema.tables where table_schema = 'public'`,
    );
    for (const { table_name } of tables.rows) {
      const { rows } = await service.pool.query<{ n: number }>(
        `select count(*)::int as n from ${table_name} t where t::text like '%' || $1 || '%'`,
        [TOKEN],
      );
      expect([table_name, rows[0]?.n]).toEqual([table_name, 0]);
    }
    const plain = fingerprintOf({
      method: 'post',
      path: '/api/v2/buyer/adcp-agents',
      pathValues: {},
      body: agent,
    });
    const rows = await service.pool.query('select from idempotency_keys where fingerprint = $1', [plain]);
    expect(rows.rowCount).toBe(0);
    const events = JSON.stringify(await service.eventsOfAccount(account));
    expect(events).not.toContain(TOKEN);
    const kept = async () => (await service.pool.query('select from secrets')).rows.length;
    const before = await kept();
    await account.api.delete(`/adcp-agents/${id}`);
    expect(await kept()).toBe(before - 1);
  });

  it('leaves no token behind: an orphan is swept an hour after it was stored', async () => {
    const sweep = createOrphanSecrets(
      {
        pool: service.pool,
        log: createLog('silent'),
        store: service.store,
        snapshots: noSnapshots,
        clock: systemClock,
      },
      findSecretsInUse(service.pool),
    );
    const { pool } = service;
    const secretOf = async (id: string) => {
      const [registered] = await service.eventsOf(agentStream(account.customerId, agentIdOf(id) ?? ''));
      return z.object({ secretId: z.string() }).parse(registered?.data).secretId;
    };
    const plant = (id: string, agentId: string, age: string) =>
      pool.query(
        `insert into secrets (customer_id, id, key_id, sealed, owner_kind, owner_id, created_at)
         values ($1, $2, 'k', '', 'agent', $3, now() - $4::interval)`,
        [account.customerId, id, agentId, age],
      );
    const live = (await register()).body.data.id;
    const gone = (await register()).body.data.id;
    const [ofLive, ofGone] = [await secretOf(live), await secretOf(gone)];
    await account.api.delete(`/adcp-agents/${gone}`);
    // The token is not an orphan while the read model still lists the agent.
    const listed = `select from adcp_agents where customer_id = $1 and id = $2 and status = 'ACTIVE'`;
    const isGone = async () =>
      (await pool.query(listed, [account.customerId, agentIdOf(gone)])).rowCount === 0;
    await until(isGone);
    await pool.query(`update secrets set created_at = now() - interval '3 years'`);
    await plant(ofGone, agentIdOf(gone) ?? '', '2 hours');
    const [young, old, replaced] = [randomUUID(), randomUUID(), randomUUID()];
    await plant(young, randomUUID(), '10 minutes');
    await plant(old, randomUUID(), '2 hours');
    await plant(replaced, agentIdOf(live) ?? '', '2 hours');
    // The read model may lag or be in a rebuild. The stream names the agent's current token.
    await pool.query('delete from adcp_agents where customer_id = $1 and id = $2', [
      account.customerId,
      agentIdOf(live),
    ]);
    const left = async () =>
      (await pool.query<{ id: string }>('select id from secrets')).rows.map(({ id }) => id);
    const before = await left();
    let purged = 0;
    for (let step = 0; step <= before.length; step++) purged += await sweep.purge(1);
    const after = await left();
    expect(purged).toBe(before.length - after.length);
    expect(before.filter((id) => !after.includes(id)).sort()).toEqual([ofGone, old, replaced].sort());
    expect(after).toEqual(expect.arrayContaining([ofLive, young]));
  });

  it('may be registered without a token', async () => {
    const { auth: _, ...open } = agent;
    expect((await account.api.post('/adcp-agents', open)).status).toBe(201);
  });

  it.each([
    ['name', { name: '' }],
    ['name', { name: 'x'.repeat(201) }],
    ['url', { url: 'http://agent.example.com/mcp' }],
    ['url', { url: 'https://127.0.0.1/mcp' }],
    ['url', { url: 'https://[::ffff:10.0.0.1]/mcp' }],
    ['url', { url: 'https://agent.internal/mcp' }],
    ['url', { url: 'https://user:secret@agent.example.com/mcp' }],
    ['url', { url: 'https://agent.example.com:8443/mcp' }],
    ['url', { url: `https://agent.example.com/${'x'.repeat(2_048)}` }],
    ['protocol', { protocol: 'REST' }],
    ['auth.type', { auth: { type: 'basic', token: 'x' } }],
    ['auth.token', { auth: { type: 'bearer', token: 'two words' } }],
    ['accountId', { accountId: '' }],
  ])('refuses an invalid %s with 400: %j', async (field, more) => {
    const answer = await register(more);
    expect(refusalOf(answer)).toEqual(invalid(field));
    expect(answer.text).not.toContain('secret');
  });

  it.each(['agt_0', `agt_${'0'.repeat(32)}`, 'x', '%00', '1'])('has no such id as %s: 404', async (id) => {
    expect([400, 404]).toContain((await account.api.get(`/adcp-agents/${id}`)).status);
    expect([400, 404]).toContain((await account.api.delete(`/adcp-agents/${id}`)).status);
  });
});

describe('the address of an agent', () => {
  it('is refused over both protocols in every form that is not on the public internet, and never contacted', async () => {
    let connections = 0;
    const canary = createServer(() => (connections += 1));
    await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
    // The service of the other tests sends no requests to agents.
    const asking = await startRunningService({ AGENT_CHECK_MS: '1000' });
    const { api } = await asking.openAccount();
    const urls = [
      ...hostileUrls((canary.address() as AddressInfo).port),
      'https:example.com',
      'https:/example.com/',
    ];
    expect(urls.length).toBeGreaterThanOrEqual(60);
    const forms = (['MCP', 'A2A'] as const).flatMap((protocol) => urls.map((url) => ({ protocol, url })));
    const accepted: unknown[] = [];
    for (const form of forms) {
      const answer = await api.post('/adcp-agents', { ...agent, ...form });
      if (String(refusalOf(answer)) !== String(invalid('url'))) accepted.push([form, answer.text]);
    }
    expect(accepted).toEqual([]);
    expect((await api.get('/adcp-agents')).body.meta.pagination.total).toBe(0);
    expect(connections).toBe(0);
    canary.close();
    await asking.stop();
  }, 120_000);
});
