import { createServer } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { AgentResource } from '../../domain/agents/resource.ts';
import type { CauseNode } from '../../domain/history/cause-resource.ts';
import { ATTEMPTS_MAX } from '../../command/workers/syndication/syndication-work.ts';
import { auditProjection } from '../../projections/audit.ts';
import { rebuildOnline } from '../../projections/engine/copy/online-rebuild.ts';
import type { SyndicationResource } from '../../domain/syndication/resource.ts';
import { conflict, invalid, notFound, refusalOf } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { startSandboxAgent, type SandboxAgent } from '../support/sandbox-agent.ts';
import { rebuildOptions } from '../support/rebuild-options.ts';
import { until } from '../support/until.ts';

/** A proxy to an agent. While it is closed, no program listens at its address. */
const startProxyTo = async (url: string) => {
  const there = Number(new URL(url).port);
  const sockets = new Set<Socket>();
  const server = createTcpServer((from) => {
    const to = connect(there, '127.0.0.1');
    for (const socket of [from, to]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => [from, to].forEach((one) => one.destroy()));
    }
    from.pipe(to).pipe(from);
  });
  let port = 0;
  const open = async (): Promise<void> => {
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  };
  await open();
  return {
    url: url.replace(`:${there}`, `:${port}`),
    open,
    close: async (): Promise<void> => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
};

/** Endpoints 6 and 7 with a real agent. */

let service: RunningService;
let account: TestAccount;
let agent: SandboxAgent;
let accounts = 0;
beforeAll(async () => {
  service = await startRunningService({ OUTBOUND_ALLOW_LOOPBACK: 'true', AGENT_CHECK_MS: '1500' });
  account = await service.openAccount();
  await until(async () => (await fetch(`${service.baseUrl}/ready`)).status === 200);
  agent = await startSandboxAgent();
});
afterAll(async () => {
  await service.stop();
  await agent.stop();
});

afterEach(() => agent.behave({ mode: 'works', delayMs: 1_000 }));

const register = (more: object) =>
  account.api.post<AgentResource>('/adcp-agents', {
    name: 'Sandbox',
    url: agent.url,
    protocol: 'MCP',
    auth: { type: 'bearer', token: agent.token },
    accountId: 'acct',
    ...more,
  });

interface Setting {
  readonly advertiser: string;
  /** The agent's public id. */
  readonly agentId: string;
  /** The account at the agent; each test has its own. */
  readonly accountId: string;
}

/** An advertiser with the named event sources, and an agent. */
const given = async (...sources: readonly string[]): Promise<Setting> => {
  const created = await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' });
  const advertiser = String(created.body.data.id);
  if (sources.length > 0) await sync(advertiser, sources);
  const accountId = `acct-${(accounts += 1)}`;
  const registered = await account.api.post<AgentResource>('/adcp-agents', {
    name: 'Sandbox',
    url: agent.url,
    protocol: 'MCP',
    auth: { type: 'bearer', token: agent.token },
    accountId,
  });
  expect(registered.status).toBe(201);
  const { id: agentId } = registered.body.data;
  // On a busy machine the registration may time out, and is repeated.
  await until(
    async () =>
      (await account.api.get<AgentResource>(`/adcp-agents/${agentId}`)).body.data?.status === 'ACTIVE',
  );
  return { advertiser, agentId, accountId };
};

/** @param shown the record's public id */
const uuidOf = (shown: string): string =>
  shown.replace(/^syn_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

const sync = async (advertiser: string, sources: readonly string[]): Promise<void> => {
  const answer = await account.api.post(`/advertisers/${advertiser}/event-sources/sync`, {
    account: { account_id: advertiser },
    event_sources: sources.map((event_source_id) => ({ event_source_id })),
  });
  expect(answer.status).toBe(200);
};

const toggle = (
  { advertiser, agentId }: Setting,
  resourceId: string,
  enabled: boolean,
  more: object = {},
  headers: Record<string, string> = {},
) =>
  account.api.post<SyndicationResource[]>(
    `/advertisers/${advertiser}/syndicate`,
    { resourceId, adcpAgentIds: [agentId], enabled, ...more },
    headers,
  );

const status = async (
  { advertiser }: Setting,
  query = '',
): Promise<{ items: SyndicationResource[]; total: number }> => {
  const read = () =>
    account.api.get<{ items: SyndicationResource[]; total: number }>(
      `/advertisers/${advertiser}/syndication-status${query}`,
    );
  let answer = await read();
  // On a busy machine the read may be 503: "repeat the request".
  for (let tries = 0; answer.status === 503 && tries < 20; tries++) answer = await read();
  expect(answer.status).toBe(200);
  return answer.body.data;
};

const settled = async (
  setting: Setting,
  wanted: SyndicationResource['status'],
): Promise<SyndicationResource> => {
  let record: SyndicationResource | undefined;
  await until(async () => {
    [record] = (await status(setting)).items;
    return record?.status === wanted;
  });
  if (record === undefined) throw new Error('no record');
  return record;
};

const untilDeleted = (setting: Setting): Promise<number> =>
  until(async () => (await status(setting)).items[0]?.responseData?.['withdrawal'] !== undefined, 20_000);

describe('POST /advertisers/{id}/syndicate', () => {
  it('sends an AdCP 3.0 agent the event types that it supports, and `custom` for newer ones', async () => {
    const setting = await given();
    const { advertiser } = setting;
    const account_id = advertiser;
    const types = ['purchase', 'follow', 'content_view', 'watch_milestone'];
    const sources = [
      { event_source_id: 'web', event_types: types },
      { event_source_id: 'app', event_types: ['follow', 'custom'] },
    ];
    const body = { account: { account_id }, event_sources: sources };
    expect((await account.api.post(`/advertisers/${advertiser}/event-sources/sync`, body)).status).toBe(200);
    const items = [{ id: 'a', title: 'A' }];
    const catalog = { catalog_id: 'shop', type: 'product', items, conversion_events: types };
    const catalogs = { account: { account_id }, catalogs: [catalog] };
    expect((await account.api.post(`/advertisers/${advertiser}/catalogs/sync`, catalogs)).status).toBe(200);
    for (const resourceId of ['web', 'app', 'shop']) {
      expect((await toggle(setting, resourceId, true)).status).toBe(201);
    }
    await until(async () => (await status(setting, '?status=COMPLETED')).total === 3);
    const held = await agent.holding(setting.accountId);
    const declared = new Map(held?.event_sources.map((one) => [one.event_source_id, one]));
    expect(declared.get('web')).toMatchObject({ event_types: ['purchase', 'custom'] });
    expect(declared.get('app')).toMatchObject({ event_types: ['custom'] });
    expect(held?.catalogs).toMatchObject([{ conversion_events: ['purchase', 'custom'] }]);
  });

  it('sends an event source to an agent, and deletes it there again', async () => {
    const setting = await given('web');
    const on = await toggle(setting, 'web', true);
    expect(on.status).toBe(201);
    expect(on.body.data).toEqual([
      {
        id: expect.stringMatching(/^syn_[0-9a-f]{32}$/),
        customerId: account.customerId,
        advertiserId: setting.advertiser,
        resourceType: 'EVENT_SOURCE',
        resourceId: 'web',
        audienceId: null,
        eventSourceId: 'web',
        catalogId: null,
        adcpAgentId: setting.agentId,
        adcpAgentAccountId: setting.accountId,
        enabled: true,
        status: 'PENDING',
        errorMessage: null,
        responseData: null,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
        completedAt: null,
      },
    ]);
    const completed = await settled(setting, 'COMPLETED');
    expect(completed).toMatchObject({
      id: on.body.data[0]?.id,
      enabled: true,
      errorMessage: null,
      responseData: { event_source_id: 'web', action: 'created' },
      completedAt: expect.any(String),
    });
    expect(await agent.eventSources(setting.accountId)).toEqual(['web']);

    const off = await toggle(setting, 'web', false);
    expect(off.body.data[0]).toMatchObject({ status: 'DISABLED', enabled: false, completedAt: null });
    await untilDeleted(setting);
    expect(await agent.eventSources(setting.accountId)).toEqual([]);
    expect((await status(setting)).items[0]).toMatchObject({
      status: 'DISABLED',
      responseData: { withdrawal: { removed: true } },
    });
  });

  it('keeps at the agent the sources that are still enabled', async () => {
    const setting = await given('a', 'b');
    await toggle(setting, 'a', true);
    await toggle(setting, 'b', true);
    await until(async () => (await agent.eventSources(setting.accountId)).length === 2);
    await toggle(setting, 'a', false);
    await until(async () => (await agent.eventSources(setting.accountId)).join() === 'b');
    await until(async () => (await status(setting, '?status=COMPLETED')).total === 1);
  });
});

describe('registering an agent', () => {
  it.each(['MCP', 'A2A'] as const)('asks it over %s for its tasks', async (protocol) => {
    // On a busy machine it may not answer in time.
    const tasks = async () => {
      const url = protocol === 'MCP' ? agent.url : agent.a2aUrl;
      const { status: code, body } = await register({ url, protocol });
      expect(code).toBe(201);
      return body.data.supportedTasks;
    };
    await until(async () => (await tasks()) !== undefined);
  });

  it('is refused when the agent does not accept the token, and stores no secret', async () => {
    const kept = async () => (await service.pool.query('select from secrets')).rows.length;
    const before = await kept();
    let answer = await register({ auth: { type: 'bearer', token: 'another-token' } });
    for (let tries = 0; answer.status === 201 && tries < 20; tries++) {
      await account.api.delete(`/adcp-agents/${answer.body.data.id}`);
      answer = await register({ auth: { type: 'bearer', token: 'another-token' } });
    }
    expect(refusalOf(answer)).toEqual(invalid('auth.token'));
    expect(await kept()).toBe(before);
  });

  it('does not wait for an agent that never answers', async () => {
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const answer = await register({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    });
    expect([answer.status, answer.body.data.supportedTasks]).toEqual([201, undefined]);
    server.close();
    server.closeAllConnections();
  });
});

/** Hashes of a member; `version` gives the same person another e-mail. */
const member = (n: number, version = 0) => ({
  externalId: `p${String(n).padStart(6, '0')}`,
  hashedEmail: (n * 16 + version).toString(16).padStart(64, '0'),
});
const people = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => member(from + n));

const syncAudience = async (advertiser: string, audience: object): Promise<void> => {
  const answer = await account.api.post(`/advertisers/${advertiser}/audiences/sync`, {
    audiences: [audience],
  });
  expect(answer.status).toBe(202);
};

const idsAt = async ({ accountId }: Setting, audienceId: string): Promise<readonly string[] | undefined> => {
  const members = await agent.members(accountId, audienceId);
  return members === undefined ? undefined : Object.keys(members).sort();
};

const idsOf = (members: readonly { readonly externalId: string }[]): readonly string[] =>
  members.map(({ externalId }) => externalId).sort();

describe('an audience', () => {
  it('is sent to an agent in parts, kept up to date, and deleted when it is disabled', async () => {
    const setting = await given();
    const { advertiser } = setting;
    await syncAudience(advertiser, { audienceId: 'vip', name: 'VIP', add: people(0, 2_300) });
    const before = (await agent.state()).effects.length;
    expect((await toggle(setting, 'vip', true)).body.data[0]).toMatchObject({
      resourceType: 'AUDIENCE',
      audienceId: 'vip',
      status: 'PENDING',
    });
    expect(await settled(setting, 'COMPLETED')).toMatchObject({
      responseData: { audience_id: 'vip', action: 'updated', total_uploaded_count: 2_300 },
    });
    expect(await idsAt(setting, 'vip')).toEqual(idsOf(people(0, 2_300)));
    const after = await agent.state();
    expect(after.effects.length - before).toBe(3);

    const { externalId } = member(1);
    await syncAudience(advertiser, {
      audienceId: 'vip',
      add: [member(0, 1), member(9_999)],
      remove: [{ externalId }],
    });
    const now = [...idsOf(people(0, 2_300)).filter((id) => id !== externalId), member(9_999).externalId];
    await until(async () => (await idsAt(setting, 'vip'))?.join() === now.join());
    await settled(setting, 'COMPLETED');
    expect((await agent.state()).effects.length - after.effects.length).toBe(1);
    const there = await agent.members(setting.accountId, 'vip');
    expect(there?.[member(0).externalId]).toBe(member(0, 1).hashedEmail);

    await toggle(setting, 'vip', false);
    await untilDeleted(setting);
    expect(await idsAt(setting, 'vip')).toBeUndefined();
    expect((await status(setting)).items[0]?.responseData).toEqual({ withdrawal: { removed: true } });
    expect((await service.pool.query('select from syndication_deliveries')).rows).toHaveLength(0);
  });

  it.each(['MCP', 'A2A'] as const)(
    'sends universal ids over %s, and reports how they match',
    async (protocol) => {
      const { advertiser, accountId } = await given();
      const registered = await account.api.post<AgentResource>('/adcp-agents', {
        name: `Sandbox over ${protocol}`,
        url: protocol === 'MCP' ? agent.url : agent.a2aUrl,
        protocol,
        auth: { type: 'bearer', token: agent.token },
        accountId,
      });
      const setting = { advertiser, accountId, agentId: registered.body.data.id };
      // A value for each type that AdCP defines.
      const uids = [
        { type: 'euid', value: 'QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=' },
        { type: 'hashed_email', value: 'a'.repeat(64) },
        { type: 'id5', value: 'ID5*v8xQdfGYhvI3CbKs2hZ0' },
        { type: 'maid', value: 'ea7583cd-a667-48bc-b806-42ecb2b48606' },
        { type: 'other', value: 'partner~42' },
        { type: 'pairid', value: 'Zm9vYmFy/+==' },
        { type: 'publisher_first_party', value: 'pub:77' },
        { type: 'rampid', value: 'XY1005wXyWPB1SgpMUKIpzA0I3UaLEz-2lg0BFAr1PWK7FMhs' },
        { type: 'rampid_derived', value: 'Xi1005wXyWPB1SgpMUKIpzA0I3UaLEz-2lg0BFAr1PWK7FMhs' },
        { type: 'uid2', value: 'KlKKKfE66A7xBnL/DsT1UV/Q+V/r3xwKL89Wp7hpNllxmNkPaF8vdzenDvfoatn6' },
      ];
      const only = { externalId: 'only-uids', uids };
      await syncAudience(advertiser, { audienceId: 'vip', add: [member(1), only] });
      await toggle(setting, 'vip', true);
      const { responseData } = await settled(setting, 'COMPLETED');
      expect(responseData).toMatchObject({
        total_uploaded_count: 2,
        match_breakdown: expect.arrayContaining([
          { id_type: 'uid2', submitted: 1, matched: 1, match_rate: 1 },
        ]),
      });
      const sent = { external_id: 'only-uids', uids };
      expect(await agent.sentMembers(accountId, 'vip')).toContainEqual(sent);
      await syncAudience(advertiser, { audienceId: 'vip', remove: [{ externalId: 'only-uids' }] });
      await until(async () => (await idsAt(setting, 'vip'))?.join() === member(1).externalId);
      await settled(setting, 'COMPLETED');
    },
  );

  it('without members is sent, too; when it is deleted, it is disabled and its agents delete it', async () => {
    const setting = await given();
    await syncAudience(setting.advertiser, { audienceId: 'none' });
    await toggle(setting, 'none', true);
    await settled(setting, 'COMPLETED');
    expect(await idsAt(setting, 'none')).toEqual([]);
    await syncAudience(setting.advertiser, { audienceId: 'none', delete: true });
    await untilDeleted(setting);
    expect((await status(setting)).items[0]).toMatchObject({ status: 'DISABLED', enabled: false });
    expect(await idsAt(setting, 'none')).toBeUndefined();
  });

  it('disabled and enabled again is sent again: members removed meanwhile do not stay', async () => {
    const setting = await given();
    await syncAudience(setting.advertiser, { audienceId: 'vip', add: people(0, 5) });
    await toggle(setting, 'vip', true);
    await settled(setting, 'COMPLETED');
    await agent.behave({ mode: 'busy' });
    await toggle(setting, 'vip', false);
    await syncAudience(setting.advertiser, { audienceId: 'vip', remove: people(0, 2) });
    await toggle(setting, 'vip', true);
    await agent.behave({ mode: 'works' });
    await settled(setting, 'COMPLETED');
    expect(await idsAt(setting, 'vip')).toEqual(idsOf(people(2, 5)));
  });

  it('with an id that another advertiser uses at the same agent account is refused', async () => {
    const setting = await given();
    const created = await account.api.post<AdvertiserResource>('/advertisers', { name: 'Other' });
    const other = { ...setting, advertiser: String(created.body.data.id) };
    await syncAudience(setting.advertiser, { audienceId: 'vip', add: people(0, 1) });
    await syncAudience(other.advertiser, { audienceId: 'vip', add: people(1, 2) });
    await toggle(setting, 'vip', true);
    await settled(setting, 'COMPLETED');
    await toggle(other, 'vip', true);
    expect((await settled(other, 'FAILED')).errorMessage).toContain('Another advertiser');
    expect(await idsAt(setting, 'vip')).toEqual(idsOf(people(0, 1)));
  });
});

describe('a catalog', () => {
  /** A tree of causes as text: a node, and its effects. */
  type CauseText = readonly [string, ...CauseText[]];
  const inWords = (node: CauseNode): CauseText =>
    node.kind === 'agentCall'
      ? [`${node.task} ${node.status}`]
      : [
          [
            ...(node.kind === 'job' ? [`${node.worker} ${node.work} ${node.status}:`] : []),
            ...node.events.map(({ action }) => action),
          ].join(' '),
          ...node.followedBy.map(inWords),
        ];
  const causedBy = async (requestId: string): Promise<readonly CauseText[]> =>
    (await account.api.get<{ causes: CauseNode[] }>(`/requests/${requestId}`)).body.data.causes.map(inWords);

  interface Page {
    readonly causes: CauseNode[];
    readonly nextAfter?: string;
  }
  const jobsIn = (nodes: readonly CauseNode[]): Extract<CauseNode, { kind: 'job' }>[] =>
    nodes.flatMap((node) =>
      node.kind === 'agentCall' ? [] : [...(node.kind === 'job' ? [node] : []), ...jobsIn(node.followedBy)],
    );
  /** The identity of a job, without the events, which depend on the page. */
  const identityOf = ({
    id,
    causedBy: cause,
    work,
    status: of,
    begunAt,
    followedBy,
  }: ReturnType<typeof jobsIn>[0]) => JSON.stringify({ id, cause, work, of, begunAt, calls: followedBy });
  const jobsOf = async (requestId: string): Promise<readonly string[]> =>
    jobsIn((await account.api.get<Page>(`/requests/${requestId}`)).body.data.causes).map(identityOf);
  /** The distinct jobs of all pages of one event each. */
  const pageByPage = async (requestId: string): Promise<readonly string[]> => {
    const jobs = new Set<string>();
    for (let after: string | undefined = ''; after !== undefined;) {
      const query: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`;
      const { data } = (await account.api.get<Page>(`/requests/${requestId}?take=1${query}`)).body;
      for (const job of jobsIn(data.causes)) jobs.add(identityOf(job));
      after = data.nextAfter;
    }
    return [...jobs];
  };

  const publish = async (
    advertiser: string,
    catalogs: readonly object[],
    headers: Record<string, string> = {},
  ): Promise<void> => {
    const answer = await account.api.post(`/advertisers/${advertiser}/catalogs/sync`, { catalogs }, headers);
    expect(answer.status).toBe(200);
  };
  const inline = (catalog_id: string, items: number) => ({
    catalog_id,
    type: 'product',
    items: Array.from({ length: items }, (_, n) => ({ sku: `${n}` })),
  });

  it('is sent to an agent with its items or the address of its feed, and again when it changes', async () => {
    const setting = await given();
    const feed = { catalog_id: 'feed', type: 'product', url: 'https://feeds.example.com/products.json' };
    await publish(setting.advertiser, [inline('inline', 3), feed]);
    await toggle(setting, 'inline', true, {}, { 'X-Request-Id': 'switch-on' });
    await until(async () => (await status(setting, '?status=COMPLETED')).total === 1);
    await toggle(setting, 'feed', true);
    await until(async () => (await status(setting, '?status=COMPLETED')).total === 2);
    const countAt = async (resourceId: string): Promise<unknown> =>
      (await status(setting, `?resourceId=${resourceId}&status=COMPLETED`)).items[0]?.responseData?.[
        'item_count'
      ];
    expect([await countAt('inline'), await countAt('feed')]).toEqual([3, 0]);
    const taken: CauseText = [
      'syndication TAKE COMPLETED: SyndicationStarted SyndicationCompleted',
      ['sync_catalogs COMPLETED'],
    ];
    expect(await causedBy('switch-on')).toEqual([['SyndicationToggled', taken]]);
    await publish(setting.advertiser, [inline('inline', 4)], { 'X-Request-Id': 'publish-again' });
    await until(async () => (await countAt('inline')) === 4);
    expect(await causedBy('publish-again')).toEqual([['CatalogPublished', ['SyndicationRefreshed', taken]]]);
    await expect(pageByPage('publish-again')).resolves.toEqual(await jobsOf('publish-again'));
    // Changed twice before a worker started: one generation, caused by both requests.
    const client = await service.pool.connect();
    try {
      await client.query('begin');
      await client.query('lock table work_list in exclusive mode');
      await publish(setting.advertiser, [inline('inline', 7)], { 'X-Request-Id': 'publish-first' });
      await publish(setting.advertiser, [inline('inline', 8)], { 'X-Request-Id': 'publish-last' });
    } finally {
      await client.query('rollback');
      client.release();
    }
    await until(async () => (await countAt('inline')) === 8, 12_000);
    expect(await causedBy('publish-last')).toEqual([['CatalogPublished', ['SyndicationRefreshed', taken]]]);
    expect(await causedBy('publish-first')).toEqual([['CatalogPublished', ['SyndicationRefreshed', taken]]]);
    await expect(pageByPage('publish-first')).resolves.toEqual(await jobsOf('publish-first'));
    // It changes again during the call, and is sent again after it, well before its claim would expire.
    const before = (await agent.state()).calls.length;
    await agent.behave({ mode: 'slow', delayMs: 1_000 });
    await publish(setting.advertiser, [inline('inline', 6)]);
    await until(async () => (await agent.state()).calls.length > before);
    await publish(setting.advertiser, [inline('inline', 5)]);
    await until(async () => (await countAt('inline')) === 5, 12_000);
    await agent.behave({ mode: 'works' });

    await toggle(setting, 'inline', false);
    await until(async () => (await agent.catalogs(setting.accountId)).join() === 'feed');
    await until(async () => (await status(setting, '?status=COMPLETED')).total === 1);
    await toggle(setting, 'feed', false, {}, { 'X-Request-Id': 'switch-off' });
    await until(
      async () =>
        (await status(setting, '?resourceId=feed')).items[0]?.responseData?.['withdrawal'] !== undefined,
      20_000,
    );
    expect(await causedBy('switch-off')).toEqual([
      ['SyndicationToggled', ['syndication DROP FAILED: SyndicationWithdrawn']],
    ]);
    // AdCP has no way to clear a catalog.
    expect((await status(setting, '?resourceId=feed')).items[0]).toMatchObject({
      status: 'DISABLED',
      responseData: { withdrawal: { removed: false, reason: expect.stringContaining('its last resource') } },
    });
    expect(await agent.catalogs(setting.accountId)).toEqual(['feed']);
  });

  it('that changes before its generation has started with the agent is caused by both requests', async () => {
    const setting = await given();
    const records = async () => (await status(setting)).items;
    /** The listed work of that generation. */
    const listed = async (generation: number): Promise<boolean> => {
      const [first] = await records();
      const { rowCount } = await service.pool.query(
        `select from work_list where kind = 'syndication' and key = $1 and revision::int = $2`,
        [uuidOf(first?.id ?? ''), generation],
      );
      return rowCount === 1;
    };
    const inRequest = (requestId: string) => ({ 'X-Request-Id': requestId });
    /** Runs `work` while the listed work of a generation is delayed. */
    const holding = async (generation: number, work: () => Promise<void>): Promise<void> => {
      await service.pool.query(`
        create function hold() returns trigger language plpgsql as
          $$ begin new.due_at := 'infinity'; return new; end $$;
        create trigger hold before insert or update on work_list
          for each row when (new.kind = 'syndication' and new.revision::numeric = ${generation}) execute function hold()`);
      try {
        await work();
      } finally {
        await service.pool.query(
          `drop function hold cascade; update work_list set due_at = now() where kind = 'syndication' and due_at = 'infinity'`,
        );
      }
    };
    const isSent = (items: number) => () => sentItemCount().then((now) => now === items);
    const sentItemCount = async (): Promise<unknown> => (await records())[0]?.responseData?.['item_count'];
    const taken: CauseText = [
      'syndication TAKE COMPLETED: SyndicationStarted SyndicationCompleted',
      ['sync_catalogs COMPLETED'],
    ];

    await publish(setting.advertiser, [inline('early', 1)], inRequest('made'));
    await holding(1, async () => {
      await toggle(setting, 'early', true, {}, inRequest('on'));
      await until(() => listed(1));
      await publish(setting.advertiser, [inline('early', 2)], inRequest('while-pending'));
      await publish(setting.advertiser, [inline('early', 3)], inRequest('while-pending-too'));
    });
    await until(isSent(3), 20_000);
    expect(await causedBy('made')).toEqual([['CatalogPublished']]);
    expect(await causedBy('on')).toEqual([['SyndicationToggled', taken]]);
    for (const requestId of ['while-pending', 'while-pending-too']) {
      expect(await causedBy(requestId)).toEqual([['CatalogPublished', taken]]);
    }

    await holding(2, async () => {
      await publish(setting.advertiser, [inline('early', 4)], inRequest('refreshes'));
      // The worker that finds the change starts a new generation, which is held.
      await until(() => listed(2), 20_000);
      await publish(setting.advertiser, [inline('early', 5)], inRequest('while-refreshing'));
    });
    await until(isSent(5), 20_000);
    expect(await causedBy('refreshes')).toEqual([['CatalogPublished', ['SyndicationRefreshed', taken]]]);
    expect(await causedBy('while-refreshing')).toEqual([['CatalogPublished', taken]]);

    // One job in every tree and on every page, also after a rebuild of the read model.
    const requests = ['on', 'while-pending', 'while-pending-too', 'refreshes', 'while-refreshing'];
    const trees = () =>
      Promise.all(
        requests.map(async (requestId) => [
          (await account.api.get<Page>(`/requests/${requestId}`)).body.data,
          await pageByPage(requestId),
        ]),
      );
    const before = await trees();
    for (const requestId of requests) {
      await expect(pageByPage(requestId)).resolves.toEqual(await jobsOf(requestId));
    }
    const ids = before.map(([page]) => jobsIn((page as Page).causes).map(({ id }) => id));
    expect([new Set(ids.slice(0, 3).flat()).size, new Set(ids.slice(3).flat()).size]).toEqual([1, 1]);
    const { rows } = await service.pool.query('select * from audit_causes order by correlation_id, position');
    const { differences } = await rebuildOnline(rebuildOptions(service), auditProjection);
    expect(differences).toBe(0);
    expect(
      (await service.pool.query('select * from audit_causes order by correlation_id, position')).rows,
    ).toEqual(rows);
    expect(await trees()).toEqual(before);
  }, 120_000);

  it('that exceeds the size limit of a call is FAILED', async () => {
    const setting = await given();
    const items = Array.from({ length: 100 }, (_, n) => ({ sku: `${n}`, text: 'x'.repeat(60_000) }));
    await publish(setting.advertiser, [{ catalog_id: 'large', type: 'product', items }]);
    await toggle(setting, 'large', true);
    expect((await settled(setting, 'FAILED')).errorMessage).toContain('5 MB');
  });
});

/** Not of workers, which still send what earlier tests have changed. */
const togglesRecorded = async (): Promise<number> =>
  (await service.eventsOfAccount(account)).filter(({ type }) => type === 'SyndicationToggled').length;

describe('a toggle', () => {
  it('answers in the order of the agents, and leaves matching records unchanged', async () => {
    const setting = await given('web');
    const other = await given();
    const agentIds = [other.agentId, setting.agentId];
    const on = await toggle(setting, 'web', true, { adcpAgentIds: agentIds });
    expect(on.body.data.map(({ adcpAgentId }) => adcpAgentId)).toEqual(agentIds);
    await until(async () => (await status(setting, '?status=COMPLETED')).total === 2);
    const before = await togglesRecorded();
    const again = await toggle(setting, 'web', true, { adcpAgentIds: agentIds });
    expect(again.body.data.map((record) => record.status)).toEqual(['COMPLETED', 'COMPLETED']);
    expect(await togglesRecorded()).toBe(before);
  });

  it('that disables a resource that was never enabled creates a disabled record and no work', async () => {
    const setting = await given('web');
    const off = await toggle(setting, 'web', false);
    expect([off.status, off.body.data[0]?.status]).toEqual([201, 'DISABLED']);
    expect((await status(setting, '?enabled=false')).total).toBe(1);
    expect((await service.pool.query(`select from work_list where kind = 'syndication'`)).rows).toHaveLength(
      0,
    );
  });

  it('repeated with its key returns the first answer and has one effect', async () => {
    const setting = await given('web');
    const headers = { 'Idempotency-Key': `toggle-${setting.agentId}` };
    const first = await toggle(setting, 'web', true, {}, headers);
    await settled(setting, 'COMPLETED');
    const again = await toggle(setting, 'web', true, {}, headers);
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
  });

  it('with one unknown agent among others, or an unknown resource, appends no event', async () => {
    const setting = await given('web');
    const before = await togglesRecorded();
    const unknown = `agt_${'0'.repeat(32)}`;
    const adcpAgentIds = [setting.agentId, unknown];
    expect(refusalOf(await toggle(setting, 'web', true, { adcpAgentIds }))).toEqual(
      notFound('adcpAgentIds.1'),
    );
    expect(refusalOf(await toggle(setting, 'nothing', true))).toEqual(notFound('resourceId'));
    const catalog = { resourceType: 'CATALOG' };
    expect(refusalOf(await toggle(setting, 'web', true, catalog))).toEqual(notFound('resourceId'));
    expect(await togglesRecorded()).toBe(before);
    expect((await status(setting)).total).toBe(0);
  });

  it('of an id that a source and a catalog share needs the resource type', async () => {
    const setting = await given('web');
    const catalogs = [{ catalog_id: 'web', type: 'product', items: [{ sku: '1' }] }];
    await account.api.post(`/advertisers/${setting.advertiser}/catalogs/sync`, { catalogs });
    const before = await togglesRecorded();
    for (const enabled of [true, false]) {
      expect(refusalOf(await toggle(setting, 'web', enabled))).toEqual(invalid('resourceType'));
    }
    expect(await togglesRecorded()).toBe(before);
    for (const resourceType of ['CATALOG', 'EVENT_SOURCE']) {
      const on = await toggle(setting, 'web', true, { resourceType });
      expect([on.status, on.body.data[0]?.resourceType]).toEqual([201, resourceType]);
    }
    await until(async () => (await status(setting, '?status=COMPLETED')).total === 2);
    expect(await agent.catalogs(setting.accountId)).toEqual(['web']);
    expect(await agent.eventSources(setting.accountId)).toEqual(['web']);
  });

  it.each<[string, object]>([
    ['resourceId', { resourceId: '' }],
    ['resourceId', { resourceId: 7 }],
    ['adcpAgentIds', { adcpAgentIds: [] }],
    ['adcpAgentIds', { adcpAgentIds: ['a', 'a'] }],
    ['adcpAgentIds', { adcpAgentIds: Array.from({ length: 101 }, (_, n) => `a${n}`) }],
    ['enabled', { enabled: 'true' }],
    ['resourceType', { resourceType: 'audience' }],
  ])('is refused with an invalid %s: %j', async (field, more) => {
    const setting = await given('web');
    expect(refusalOf(await toggle(setting, 'web', true, more))).toEqual(invalid(field));
  });

  it('is refused for an archived, unknown or invalid advertiser', async () => {
    const setting = await given('web');
    await account.api.delete(`/advertisers/${setting.advertiser}`);
    expect(refusalOf(await toggle(setting, 'web', true))).toEqual(conflict());
    for (const advertiser of ['2147483647', '2147483648', '9'.repeat(400), '007', '0']) {
      expect((await toggle({ ...setting, advertiser }, 'web', true)).status).toBe(404);
      const read = await account.api.get(`/advertisers/${advertiser}/syndication-status`);
      expect(read.status).toBe(404);
    }
    const bad = await toggle({ ...setting, advertiser: '1a' }, 'web', true);
    expect(refusalOf(bad)).toEqual(invalid('advertiserId'));
  });

  it("needs the buyer's identity at the agent: an account or a brand", async () => {
    const setting = await given('web');
    const registered = await account.api.post<AgentResource>('/adcp-agents', {
      name: 'By brand',
      url: agent.url,
      protocol: 'MCP',
      auth: { type: 'bearer', token: agent.token },
    });
    const byBrand = { ...setting, agentId: registered.body.data.id };
    expect(refusalOf(await toggle(byBrand, 'web', true))).toEqual(conflict('adcpAgentIds.0'));
    const brand = `brand-${setting.accountId}.example.com`;
    await account.api.put(`/advertisers/${setting.advertiser}`, { brand });
    const on = await toggle(byBrand, 'web', true);
    expect(on.body.data[0]?.adcpAgentAccountId).toBeNull();
    await settled(byBrand, 'COMPLETED');
    expect(Object.keys((await agent.state()).sources).some((key) => key.includes(brand))).toBe(true);
  });
});

describe('an agent that', () => {
  it('is busy is called again with the same key until it accepts', async () => {
    const setting = await given('web');
    await agent.behave({ mode: 'busy' });
    await toggle(setting, 'web', true);
    // During the attempts, the record shows the last error.
    await until(async () => (await status(setting)).items[0]?.errorMessage === 'Too many calls');
    expect((await settled(setting, 'SYNCING')).errorMessage).toBe('Too many calls');
    await agent.behave({ mode: 'works' });
    expect((await settled(setting, 'COMPLETED')).errorMessage).toBeNull();
    expect(await agent.eventSources(setting.accountId)).toEqual(['web']);
  });

  it('rejects the call: FAILED with its message; enabled again, the call is repeated', async () => {
    const setting = await given('web');
    await agent.behave({ mode: 'rejecting' });
    await toggle(setting, 'web', true);
    expect(await settled(setting, 'FAILED')).toMatchObject({
      enabled: true,
      errorMessage: expect.stringContaining('The account is suspended'),
      completedAt: null,
    });
    await agent.behave({ mode: 'works' });
    expect((await toggle(setting, 'web', true)).body.data[0]).toMatchObject({
      status: 'PENDING',
      errorMessage: null,
    });
    await settled(setting, 'COMPLETED');
  });

  it("accepts the call but not the item: FAILED with the item's error", async () => {
    const setting = await given('web');
    await agent.behave({ mode: 'failing-items' });
    await toggle(setting, 'web', true);
    expect((await settled(setting, 'FAILED')).errorMessage).toBe('This source cannot be kept');
  });

  it('does not accept the token: FAILED immediately', async () => {
    const setting = await given('web');
    // It answered 500 when it was registered.
    let httpStatus = 500;
    const server = createServer((_request, response) => response.writeHead(httpStatus).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const registered = await register({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    });
    expect(registered.body.data.supportedTasks).toBeUndefined();
    const lockedOut = { ...setting, agentId: registered.body.data.id };
    httpStatus = 401;
    await toggle(lockedOut, 'web', true);
    expect((await settled(lockedOut, 'FAILED')).errorMessage).toBe(
      'The agent does not accept the credentials.',
    );
    server.close();
  });

  it('is slow and is disabled meanwhile: the status stays DISABLED, and the agent deletes the resource', async () => {
    const setting = await given('web');
    const before = (await agent.state()).calls.length;
    await agent.behave({ mode: 'slow', delayMs: 2_000 });
    await toggle(setting, 'web', true);
    await until(async () => (await agent.state()).calls.length > before);
    expect((await status(setting)).items[0]?.status).toBe('SYNCING');
    expect((await toggle(setting, 'web', false)).body.data[0]?.status).toBe('DISABLED');
    await agent.behave({ mode: 'works' });
    await untilDeleted(setting);
    expect((await agent.state()).effects.length).toBeGreaterThanOrEqual(2);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect((await status(setting)).items[0]?.status).toBe('DISABLED');
    expect(await agent.eventSources(setting.accountId)).toEqual([]);
  });

  it('is enabled, disabled and enabled: the last toggle takes effect', async () => {
    const setting = await given('web');
    for (const enabled of [true, false, true, false, true]) await toggle(setting, 'web', enabled);
    await settled(setting, 'COMPLETED');
    expect(await agent.eventSources(setting.accountId)).toEqual(['web']);
    for (const enabled of [false, true, false]) await toggle(setting, 'web', enabled);
    await untilDeleted(setting);
    expect(await agent.eventSources(setting.accountId)).toEqual([]);
  });

  it('accepts the call and finishes it later: SYNCING until then, with one call', async () => {
    const setting = await given('web');
    const before = (await agent.state()).calls.length;
    await agent.behave({ mode: 'submitted', delayMs: 1_500 });
    await toggle(setting, 'web', true);
    const eventsOf = async (type: string) =>
      (await service.eventsOfAccount(account)).filter(
        (event) => event.type === type && event.stream.includes(recordId),
      );
    const recordId = uuidOf((await status(setting)).items[0]?.id ?? '');
    await until(async () => (await eventsOf('SyndicationSubmitted')).length > 0);
    expect((await status(setting)).items[0]?.status).toBe('SYNCING');
    expect(await settled(setting, 'COMPLETED')).toMatchObject({
      responseData: { event_source_id: 'web', action: 'created' },
    });
    expect((await agent.state()).calls).toHaveLength(before + 1);
    expect(await eventsOf('SyndicationSubmitted')).toHaveLength(1);
    expect(await eventsOf('SyndicationStarted')).toHaveLength(1);
  });

  it('accepts the call over A2A and is disabled meanwhile: it deletes the resource after finishing', async () => {
    const setting = await given('web');
    const registered = await account.api.post<AgentResource>('/adcp-agents', {
      name: 'Sandbox over A2A',
      url: agent.a2aUrl,
      protocol: 'A2A',
      auth: { type: 'bearer', token: agent.token },
      accountId: setting.accountId,
    });
    const overA2a = { ...setting, agentId: registered.body.data.id };
    const before = await agent.state();
    await agent.behave({ mode: 'submitted', delayMs: 2_000 });
    await toggle(overA2a, 'web', true);
    await until(async () => (await agent.state()).calls.length > before.calls.length);
    await agent.behave({ mode: 'works' });
    await toggle(overA2a, 'web', false);
    await untilDeleted(overA2a);
    expect((await agent.state()).effects).toHaveLength(before.effects.length + 2);
    expect(await agent.eventSources(setting.accountId)).toEqual([]);
    expect((await status(overA2a)).items[0]).toMatchObject({
      status: 'DISABLED',
      responseData: { withdrawal: { removed: true } },
    });
  });

  it('accepts the call and fails later: FAILED with its message', async () => {
    const setting = await given('web');
    await agent.behave({ mode: 'submitted-failing', delayMs: 0 });
    await toggle(setting, 'web', true);
    expect((await settled(setting, 'FAILED')).errorMessage).toBe('The review was not passed');
  });

  it('refuses the deletion is called again when it is disabled again', async () => {
    const setting = await given('web');
    await toggle(setting, 'web', true);
    await settled(setting, 'COMPLETED');
    await agent.behave({ mode: 'rejecting' });
    await toggle(setting, 'web', false);
    await untilDeleted(setting);
    const { items } = await status(setting);
    expect(items[0]?.responseData?.['withdrawal']).toMatchObject({ removed: false });
    expect(await agent.eventSources(setting.accountId)).toEqual(['web']);
    await agent.behave({ mode: 'works' });
    const again = await toggle(setting, 'web', false);
    expect([again.status, again.body.data[0]?.status, again.body.data[0]?.responseData]).toEqual([
      201,
      'DISABLED',
      null,
    ]);
    await untilDeleted(setting);
    expect((await status(setting)).items[0]?.responseData).toEqual({ withdrawal: { removed: true } });
    expect(await agent.eventSources(setting.accountId)).toEqual([]);
    const before = await togglesRecorded();
    expect((await toggle(setting, 'web', false)).status).toBe(201);
    expect(await togglesRecorded()).toBe(before);
  });

  /** A resource that was disabled while its agent is unavailable, with more failed attempts than other calls get. */
  const givenUnavailable = async () => {
    const setting = await given('web');
    const proxy = await startProxyTo(agent.url);
    const registered = await register({ url: proxy.url, accountId: setting.accountId });
    const viaProxy = { ...setting, agentId: registered.body.data.id };
    await toggle(viaProxy, 'web', true);
    const { id } = await settled(viaProxy, 'COMPLETED');
    await proxy.close();
    await toggle(viaProxy, 'web', false);
    /** Makes the next attempt due now. @returns the number of attempts so far */
    const hasten = async (): Promise<number | undefined> =>
      (
        await service.pool.query<{ attempts: number }>(
          `update work_list set due_at = now() where kind = 'syndication' and key = $1 returning attempts`,
          [uuidOf(id)],
        )
      ).rows[0]?.attempts;
    await until(async () => ((await hasten()) ?? 0) > ATTEMPTS_MAX, 40_000);
    expect((await status(viaProxy)).items[0]).toMatchObject({ status: 'DISABLED', responseData: null });
    expect(await agent.eventSources(setting.accountId)).toEqual(['web']);
    return { setting: viaProxy, proxy, hasten };
  };

  it('is unavailable when it is disabled deletes the resource after its return', async () => {
    const { setting, proxy, hasten } = await givenUnavailable();
    await proxy.open();
    await until(async () => (await hasten()) === undefined);
    expect((await status(setting)).items[0]?.responseData).toEqual({ withdrawal: { removed: true } });
    expect(await agent.eventSources(setting.accountId)).toEqual([]);
    await proxy.close();
  }, 90_000);

  it('is permanently unavailable can be removed before the last attempt', async () => {
    const { setting, hasten } = await givenUnavailable();
    const remove = () => account.api.delete(`/adcp-agents/${setting.agentId}`);
    expect((await remove()).status).toBe(409);
    // An attempt that ends now updates the row, with the time in its stream.
    await until(async () => {
      await service.pool.query(
        `update syndication_records set updated_at = updated_at - interval '11 minutes'
         where status = 'DISABLED' and waiting`,
      );
      return (await remove()).status === 204;
    });
    await until(async () => (await hasten()) === undefined);
    expect((await status(setting)).items[0]?.responseData?.['withdrawal']).toMatchObject({ removed: false });
  }, 90_000);

  it('has resources cannot be deleted', async () => {
    const setting = await given('web');
    await toggle(setting, 'web', true);
    const remove = () => account.api.delete(`/adcp-agents/${setting.agentId}`);
    expect(refusalOf(await remove())).toEqual(conflict());
    await settled(setting, 'COMPLETED');
    expect((await remove()).status).toBe(409);
    await toggle(setting, 'web', false);
    await untilDeleted(setting);
    expect((await remove()).status).toBe(204);
  });
});

describe('archiving an advertiser', () => {
  it('disables all its records; restoring it leaves them disabled', async () => {
    const setting = await given('a', 'b');
    await toggle(setting, 'a', true);
    await toggle(setting, 'b', true);
    await until(async () => (await status(setting, '?status=COMPLETED')).total === 2);
    await account.api.delete(`/advertisers/${setting.advertiser}`);
    await until(async () => (await status(setting, '?enabled=false')).total === 2);
    await until(async () => (await agent.eventSources(setting.accountId)).length === 0);
    await account.api.post(`/advertisers/${setting.advertiser}/restore`);
    expect((await status(setting, '?status=DISABLED')).total).toBe(2);
  });
});

describe('archiving an advertiser and restoring it immediately', () => {
  it('disables its records', async () => {
    const setting = await given('a');
    await toggle(setting, 'a', true);
    await until(async () => (await status(setting, '?status=COMPLETED')).total === 1);
    await account.api.delete(`/advertisers/${setting.advertiser}`);
    await account.api.post(`/advertisers/${setting.advertiser}/restore`);
    await until(async () => (await status(setting, '?status=DISABLED')).total === 1);
    await until(async () => (await agent.eventSources(setting.accountId)).length === 0);
  }, 90_000);
});

describe('a resource that has changed since it was enabled', () => {
  it('and was deleted can be disabled but not enabled again, and its agent can be removed afterwards', async () => {
    const setting = await given('web', 'app');
    await toggle(setting, 'web', true);
    await settled(setting, 'COMPLETED');
    const rest = { account: { account_id: setting.advertiser }, event_sources: [{ event_source_id: 'app' }] };
    await account.api.post(`/advertisers/${setting.advertiser}/event-sources/sync`, {
      ...rest,
      delete_missing: true,
    });
    expect((await toggle(setting, 'web', false)).status).toBe(201);
    await untilDeleted(setting);
    expect(await agent.eventSources(setting.accountId)).toEqual([]);
    expect((await toggle(setting, 'web', true)).status).toBe(404);
    expect((await account.api.delete(`/adcp-agents/${setting.agentId}`)).status).toBe(204);
  });

  it('and was sent under another brand is deleted under that brand', async () => {
    const created = await account.api.post<AdvertiserResource>('/advertisers', {
      name: 'Acme',
      brand: 'acme-before.com',
    });
    const advertiser = String(created.body.data.id);
    await sync(advertiser, ['web']);
    const registered = await account.api.post<AgentResource>('/adcp-agents', {
      name: 'Sandbox',
      url: agent.url,
      protocol: 'MCP',
      auth: { type: 'bearer', token: agent.token },
    });
    const setting = { advertiser, agentId: registered.body.data.id, accountId: '' };
    const atAgent = async (): Promise<unknown> =>
      Object.entries((await agent.state()).sources).find(([at]) => at.includes('acme-before.com'))?.[1];
    await toggle(setting, 'web', true);
    await settled(setting, 'COMPLETED');
    expect(await atAgent()).toEqual(['web']);
    expect((await account.api.put(`/advertisers/${advertiser}`, { brand: 'acme-after.com' })).status).toBe(
      200,
    );
    await toggle(setting, 'web', false);
    await untilDeleted(setting);
    expect(await atAgent()).toEqual([]);
  });
});

describe('GET /advertisers/{id}/syndication-status', () => {
  it('filters by each parameter, pages, and counts the matching records', async () => {
    const setting = await given('s1', 's2', 's3');
    const other = await given();
    const both = { adcpAgentIds: [setting.agentId, other.agentId] };
    for (const source of ['s1', 's2', 's3']) await toggle(setting, source, true, both);
    await until(async () => (await status(setting, '?status=COMPLETED')).total === 6);
    await toggle(setting, 's3', false, both);
    const count = async (query: string): Promise<readonly number[]> => {
      const { items, total } = await status(setting, query);
      return [items.length, total];
    };
    expect(await count('')).toEqual([6, 6]);
    expect(await count('?enabled=true')).toEqual([4, 4]);
    expect(await count('?enabled=false')).toEqual([2, 2]);
    expect(await count('?status=DISABLED&resourceId=s3')).toEqual([2, 2]);
    expect(await count('?resourceId=s1')).toEqual([2, 2]);
    expect(await count(`?adcpAgentId=${other.agentId}`)).toEqual([3, 3]);
    expect(await count(`?adcpAgentId=${other.agentId}&status=COMPLETED`)).toEqual([2, 2]);
    expect(await count('?adcpAgentId=nobody')).toEqual([0, 0]);
    expect(await count('?resourceType=EVENT_SOURCE')).toEqual([6, 6]);
    expect(await count('?resourceType=AUDIENCE')).toEqual([0, 0]);
    expect(await count('?limit=4')).toEqual([4, 6]);
    expect(await count('?limit=4&offset=4')).toEqual([2, 6]);
    expect(await count('?take=1&skip=9007199254740991')).toEqual([0, 6]);
    // Agents are still deleting disabled resources, which updates their records once more.
    await until(
      async () =>
        (await service.pool.query(`select from work_list where kind = 'syndication'`)).rows.length === 0,
      20_000,
    );
    const all = (await status(setting)).items;
    const paged = [
      ...(await status(setting, '?limit=3')).items,
      ...(await status(setting, '?limit=3&offset=3')).items,
    ];
    expect(paged).toEqual(all);
    expect(all.map(({ updatedAt }) => updatedAt)).toEqual(
      all
        .map(({ updatedAt }) => updatedAt)
        .sort()
        .toReversed(),
    );
  });

  it.each([
    ['take', 'limit=0'],
    ['limit', 'limit=101'],
    ['offset', 'offset=-1'],
    ['offset', 'offset=9007199254740992'],
    ['enabled', 'enabled=1'],
    ['status', 'status=pending'],
    ['resourceType', 'resourceType=X'],
    ['resourceId', 'resourceId='],
    ['adcpAgentId', 'adcpAgentId='],
  ])('refuses %s in %s with 400', async (field, query) => {
    const { advertiser } = await given();
    const answer = await account.api.get(`/advertisers/${advertiser}/syndication-status?${query}`);
    expect([answer.status, answer.body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(answer.body.error?.field).toBe(field === 'take' ? 'limit' : field);
  });
});
