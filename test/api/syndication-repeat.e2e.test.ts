import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { SyndicationResource } from '../../domain/syndication/resource.ts';
import { createLog } from '../../app/log.ts';
import { createFailingAppends } from '../support/failing-appends.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/**
 * A toggle for many agents is one append each, ten at a time. If the process ends after any of them, a repeat with
 * the same key completes the toggle, even if resources were archived or deleted since.
 */

const { wrap, failFrom, heal } = createFailingAppends();

let service: RunningService;
let account: TestAccount;
/** In the order of the answer. */
const agents: string[] = [];
/** The number of agents toggled at a time, plus one. */
const AGENTS = 11;

beforeAll(async () => {
  // Without a worker, whose appends would also be counted.
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

const runUntilFailure = async (id: number, key: string, n: number, how: 'before' | 'after', of = agents) => {
  failFrom(n, how);
  expect((await run(id, key, of)).status).toBe(503);
  await heal();
};

it.each([
  ['the first', 1, 'after'],
  ['the fifth', 5, 'before'],
  ['the tenth, the last of the first group,', 10, 'after'],
  ['the last', 11, 'after'],
] as const)(
  'a repeat completes the toggle when appends fail from %s on (number %d, %s it is stored)',
  async (_what, n, how) => {
    const id = await given();
    const key = randomUUID();
    await runUntilFailure(id, key, n, how);
    expect(await toggles(id)).toBe(how === 'after' ? n : n - 1);
    expect(await run(id, key, agents)).toEqual(done(agents));
    expect(await toggles(id)).toBe(AGENTS);
  },
);

it.each<[string, (id: number) => Promise<unknown>]>([
  ['the advertiser was archived', (id) => account.api.delete(`/advertisers/${id}`)],
  ['the resource was deleted', (id) => syncSources(id, ['another'])],
  [
    'a catalog with the same id was created',
    (id) =>
      account.api.post(`/advertisers/${id}/catalogs/sync`, {
        catalogs: [{ catalog_id: 'web', type: 'product', items: [{ sku: '1' }] }],
      }),
  ],
])('a repeat completes a begun toggle although %s', async (_what, since) => {
  const id = await given();
  for (const [n, how] of [
    [10, 'after'],
    [11, 'after'],
  ] as const) {
    const one = n === 10 ? id : await given();
    const key = randomUUID();
    await runUntilFailure(one, key, n, how);
    await since(one);
    expect(await run(one, key, agents)).toEqual(done(agents));
    expect(await toggles(one)).toBe(AGENTS);
    // The same request with another key is refused, or would mean another type.
    expect((await run(one, randomUUID(), agents)).status).toBeGreaterThanOrEqual(400);
  }
});

it('a repeat completes a begun toggle although a later agent was removed', async () => {
  const id = await given();
  const key = randomUUID();
  const last = await register();
  const all = [...agents.slice(0, 10), last];
  await runUntilFailure(id, key, 10, 'after', all);
  expect((await account.api.delete(`/adcp-agents/${last}`)).status).toBe(204);
  expect(await run(id, key, all)).toEqual(done(all));
  expect((await run(id, randomUUID(), all)).status).toBe(404);
});

it('a repeat is refused if the advertiser was archived before the first append', async () => {
  const id = await given();
  const key = randomUUID();
  await runUntilFailure(id, key, 1, 'before');
  expect((await account.api.delete(`/advertisers/${id}`)).status).toBe(204);
  const before = await service.store.head();
  expect((await run(id, key, agents)).status).toBe(409);
  expect(await service.store.head()).toBe(before);
});
