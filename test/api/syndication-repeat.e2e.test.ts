import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { SyndicationResource } from '../../domain/syndication/syndication-resource.ts';
import { createLog } from '../../app/log.ts';
import { createFailingAppends } from '../support/failing-appends.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/**
 * A toggle at many agents is as many appends, ten at once. Whichever is the last before everything ends, the repeat with
 * the same key completes it, even if resources were archived or deleted since.
 */

const { wrap, failFrom, heal } = createFailingAppends();

let service: RunningService;
let account: TestAccount;
/** As they are shown: one more than are toggled at once. */
const agents: string[] = [];
/** Agents toggled at once, and one. */
const AGENTS = 11;

beforeAll(async () => {
  // Without a worker, whose appends would be counted, too.
  service = await startRunningService({ ROLES: 'api,projector' }, createLog('silent'), { store: wrap });
  account = await service.openAccount();
  while (agents.length < AGENTS) agents.push(await register());
});
afterAll(() => service.stop());

const register = async (): Promise<string> => {
  const answer = await account.api.post<{ id: string }>('/adcp-agents', {
    name: 'Agent',
    url: 'https://agent.example.com/mcp',
    protocol: 'MCP',
    auth: { type: 'bearer', token: 'token-of-the-agent' },
    accountId: 'acct',
  });
  expect(answer.status).toBe(201);
  return answer.body.data.id;
};

const given = async (): Promise<number> => {
  const { id } = (await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data;
  await syncSources(id, ['web']);
  return id;
};

const syncSources = async (id: number, sources: readonly string[]): Promise<void> => {
  const answer = await account.api.post(`/advertisers/${id}/event-sources/sync`, {
    account: { account_id: String(id) },
    event_sources: sources.map((event_source_id) => ({ event_source_id })),
    delete_missing: true,
  });
  expect(answer.status).toBe(200);
};

const run = async (id: number, key: string, adcpAgentIds: readonly string[], more: object = {}) => {
  const answer = await account.api.post<SyndicationResource[]>(
    `/advertisers/${id}/syndicate`,
    { resourceId: 'web', adcpAgentIds, enabled: true, ...more },
    { 'Idempotency-Key': key },
  );
  return {
    status: answer.status,
    records:
      answer.status === 201
        ? answer.body.data.map((record) => [record.resourceType, record.adcpAgentId, record.status])
        : [],
  };
};

const done = (of: readonly string[]) => ({
  status: 201,
  records: of.map((agentId) => ['EVENT_SOURCE', agentId, 'PENDING']),
});

const toggles = async (id: number): Promise<number> =>
  (await service.eventsOfAccount(account)).filter(
    ({ type, data }) => type === 'SyndicationToggled' && data['advertiserId'] === id,
  ).length;

const cut = async (id: number, key: string, n: number, how: 'before' | 'after', of = agents) => {
  failFrom(n, how);
  expect((await run(id, key, of)).status).toBe(503);
  await heal();
};

it.each([
  ['of the first ten', 1, 'after'],
  ['of the first ten', 5, 'before'],
  ['of all of the first ten', 10, 'after'],
  ['of the last', 11, 'after'],
] as const)('everything ends with the append %s (%d, %s it)', async (_what, n, how) => {
  const id = await given();
  const key = randomUUID();
  await cut(id, key, n, how);
  expect(await toggles(id)).toBe(how === 'after' ? n : n - 1);
  expect(await run(id, key, agents)).toEqual(done(agents));
  expect(await toggles(id)).toBe(AGENTS);
});

it.each<[string, (id: number) => Promise<unknown>]>([
  ['the advertiser was archived', (id) => account.api.delete(`/advertisers/${id}`)],
  ['the resource was deleted', (id) => syncSources(id, ['another'])],
  [
    'a catalog has come by the same id',
    (id) =>
      account.api.post(`/advertisers/${id}/catalogs/sync`, {
        catalogs: [{ catalog_id: 'web', type: 'product', items: [{ sku: '1' }] }],
      }),
  ],
])('once begun, it is completed although %s', async (_what, since) => {
  const id = await given();
  for (const [n, how] of [
    [10, 'after'],
    [11, 'after'],
  ] as const) {
    const one = n === 10 ? id : await given();
    const key = randomUUID();
    await cut(one, key, n, how);
    await since(one);
    expect(await run(one, key, agents)).toEqual(done(agents));
    expect(await toggles(one)).toBe(AGENTS);
    // The same without the key is refused, or would be of another type.
    expect((await run(one, randomUUID(), agents)).status).toBeGreaterThanOrEqual(400);
  }
});

it('once begun, it is completed although an agent that comes later was removed', async () => {
  const id = await given();
  const key = randomUUID();
  const last = await register();
  const all = [...agents.slice(0, 10), last];
  await cut(id, key, 10, 'after', all);
  expect((await account.api.delete(`/adcp-agents/${last}`)).status).toBe(204);
  expect(await run(id, key, all)).toEqual(done(all));
  expect((await run(id, randomUUID(), all)).status).toBe(404);
});

it('refused before it began, it stays without effect', async () => {
  const id = await given();
  const key = randomUUID();
  await cut(id, key, 1, 'before');
  expect((await account.api.delete(`/advertisers/${id}`)).status).toBe(204);
  const before = await service.store.head();
  expect((await run(id, key, agents)).status).toBe(409);
  expect(await service.store.head()).toBe(before);
});
