import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { expiredRows } from '../../projections/expired-rows.ts';
import { storeMembers } from '../../command/audiences/audience-members.ts';
import { advertiserEvents } from '../../domain/advertisers/events.ts';
import { advertiserStream } from '../../domain/advertisers/advertiser.ts';
import { type AudienceMember } from '../../domain/audiences/events.ts';
import { AUDIENCE, audienceAggregate, audienceStream } from '../../domain/audiences/audience.ts';
import { executeCommand } from '../../shared/aggregate/execute-command.ts';
import { toNewEvents } from '../../shared/aggregate/recorded-domain-event.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { amount } from '../support/amount.ts';
import { invalid, refusalOf, untilDefinite, type Api, type ApiEnvelope } from '../support/api-client.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { reserve, send } from '../support/uploads.ts';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.stop());

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Random numbers from 0, below the bound, reproducible by seed (the generator "mulberry32"). */
const randomFrom = (seed: number) => {
  let state = seed;
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
};

/** Ids of the created resources, as the API shows them. */
interface CreatedIds {
  readonly advertisers: number[];
  readonly campaigns: { readonly id: string; readonly advertiserId: number }[];
  readonly creatives: { readonly id: string; readonly advertiserId: number; readonly campaignId?: string }[];
  readonly assets: { readonly id: string; readonly advertiserId: number }[];
  readonly agents: string[];
  readonly sources: { readonly key: string; readonly advertiserId: number }[];
  readonly keys: string[];
  readonly connections: { readonly id: string; readonly accountIds: readonly string[] }[];
}

const CONNECTIONS = '/creative-engines/1/connections';
const NAMES = ['Oak', 'oakwood', 'Elm', 'Birch', 'Beech'];

/** Returns functions that change each kind of listed resource. A change may be refused. */
const changer = (api: Api, random: (below: number) => number, ids: CreatedIds) => {
  const one = <Item>(items: readonly Item[]): Item | undefined => items[random(items.length || 1)];
  const name = (): string => `${one(NAMES)} ${random(100)}`;
  const made = async <Data>(path: string, body: object): Promise<Data> => {
    const key = { 'Idempotency-Key': randomUUID() };
    const answer = await untilDefinite(() => api.post<Data>(path, body, key));
    expect([path, answer.status]).toEqual([path, 201]);
    return answer.body.data;
  };
  const tag = () => ({ name: name(), formatKind: 'display_tag', copy: { tag: '<b></b>' } });
  const library = (id: number) => `/advertisers/${id}/creatives`;
  const changes: Readonly<Record<string, (advertiserId: number) => Promise<unknown>>> = {
    createAdvertiser: async () => {
      const sandbox = random(2) === 0;
      ids.advertisers.push((await made<{ id: number }>('/advertisers', { name: name(), sandbox })).id);
    },
    renameAdvertiser: (id) => api.put(`/advertisers/${id}`, { name: name() }),
    archiveAdvertiser: async (id) => (random(3) === 0 ? api.delete(`/advertisers/${id}`) : undefined),
    restoreAdvertiser: (id) => api.post(`/advertisers/${id}/restore`),
    createCampaign: async (advertiserId) => {
      const { status, body } = await api.post<{ id: string }>('/campaigns', { advertiserId, name: name() });
      if (status === 201) ids.campaigns.push({ id: body.data.id, advertiserId });
    },
    renameCampaign: async () => api.put(`/campaigns/${one(ids.campaigns)?.id}`, { name: name() }),
    archiveCampaign: async () =>
      random(3) === 0 ? api.delete(`/campaigns/${one(ids.campaigns)?.id}`) : undefined,
    createCreative: async (advertiserId) => {
      const { status, body } = await api.post<{ id: string }>(`${library(advertiserId)}/create`, tag());
      if (status === 201) ids.creatives.push({ id: body.data.id, advertiserId });
    },
    createInCampaign: async () => {
      const campaign = one(ids.campaigns);
      const path = `/campaigns/${campaign?.id}/creatives/create`;
      const { status, body } = await api.post<{ id: string }>(path, tag());
      if (status !== 201 || campaign === undefined) return;
      const { id: campaignId, advertiserId } = campaign;
      ids.creatives.push({ id: body.data.id, advertiserId, campaignId });
    },
    renameCreative: async () => {
      const creative = one(ids.creatives.filter(({ campaignId }) => campaignId !== undefined));
      const path = `/campaigns/${creative?.campaignId}/creatives/${creative?.id}`;
      return api.put(path, { name: name() });
    },
    attachCreative: async () => {
      const creative = one(ids.creatives);
      const campaign = one(ids.campaigns.filter(({ advertiserId: id }) => id === creative?.advertiserId));
      const path = `${library(creative?.advertiserId ?? 0)}/${creative?.id}/campaigns`;
      return api.post(path, { campaignId: campaign?.id });
    },
    detachCreative: async () => {
      const creative = one(ids.creatives.filter(({ campaignId }) => campaignId !== undefined));
      const path = `${library(creative?.advertiserId ?? 0)}/${creative?.id}/campaigns/${creative?.campaignId}`;
      return api.delete(path);
    },
    archiveCreative: async () => {
      const creative = one(ids.creatives);
      return api.delete(`${library(creative?.advertiserId ?? 0)}/${creative?.id}`);
    },
    addAsset: async (advertiserId) => {
      const text = { name: name(), mimeType: 'text/plain' };
      const { status, body } = await reserve(api, advertiserId, text);
      if (status !== 201) return;
      // Some receive no bytes: they are not in the library.
      if (random(4) > 0) expect((await send(body.data.uploadUrl, Buffer.from(name()))).status).toBe(200);
      ids.assets.push({ id: body.data.assetId, advertiserId });
    },
    removeAsset: async () => {
      const asset = one(ids.assets);
      return api.delete(`/advertisers/${asset?.advertiserId}/assets/${asset?.id}`);
    },
    syncSources: async (advertiserId) => {
      const keys = ['web', 'shop', 'app'].filter(() => random(2) === 0);
      const { status } = await api.post(`/advertisers/${advertiserId}/event-sources/sync`, {
        account: { account_id: String(advertiserId) },
        event_sources: keys.map((key) => ({ event_source_id: key, name: name() })),
        delete_missing: random(2) === 0,
      });
      if (status === 200) ids.sources.push(...keys.map((key) => ({ key, advertiserId })));
    },
    syncCatalogs: async (advertiserId) =>
      api.post(`/advertisers/${advertiserId}/catalogs/sync`, {
        catalogs: (['product', 'store'] as const)
          .filter(() => random(2) === 0)
          .map((type) => ({ catalog_id: `of-${type}`, type, name: name(), items: [{ id: '1' }] })),
        delete_missing: random(2) === 0,
      }),
    syncAudiences: async (advertiserId) => {
      const members = () =>
        Array.from({ length: random(4) }, () => ({
          externalId: `p${random(6)}`,
          hashedEmail: random(16).toString(16).repeat(64),
        }));
      return api.post(`/advertisers/${advertiserId}/audiences/sync`, {
        audiences: ['vip', 'new', 'lost'].map((audienceId) =>
          random(5) === 0
            ? { audienceId, delete: true }
            : { audienceId, name: name(), add: members(), remove: members() },
        ),
        deleteMissing: random(4) === 0,
      });
    },
    issueKey: async () => {
      const scopes = ['exchange:read', 'exchange:write'].slice(0, 1 + random(2));
      const expires = random(2) === 0 ? {} : { expiresAt: '2999-01-01T00:00:00.000Z' };
      ids.keys.push((await made<{ id: string }>('/api-keys', { name: name(), scopes, ...expires })).id);
    },
    revokeKey: async () => api.delete(`/api-keys/${one(ids.keys)}`),
    connect: async () => {
      const { body } = await api.post<{ id: string; accounts: { id: string }[] }>(CONNECTIONS, {
        apiKey: `sbx_a-key-that-is-long-${random(1_000)}`,
      });
      const { id, accounts } = body.data;
      ids.connections.push({ id, accountIds: accounts.map((account) => account.id) });
    },
    selectAccount: async () => {
      const { id, accountIds = [] } = ids.connections.at(-1) ?? {};
      return api.post(`${CONNECTIONS}/${id}/accounts/${one(accountIds)}/select`);
    },
    mapAccount: async (advertiserId) => {
      const { id, accountIds = [] } = ids.connections.at(-1) ?? {};
      return api.post(`${CONNECTIONS}/${id}/accounts/${one(accountIds)}/advertiser`, { advertiserId });
    },
    disconnect: async () =>
      random(3) === 0 ? api.delete(`${CONNECTIONS}/${ids.connections.at(-1)?.id}`) : undefined,
    addAgent: async () => {
      const url = `https://agent-${random(1_000_000)}.example.com/mcp`;
      const agent = await made<{ id: string }>('/adcp-agents', {
        name: name(),
        url,
        protocol: 'MCP',
        accountId: 'a',
      });
      ids.agents.push(agent.id);
    },
    removeAgent: async () => (random(3) === 0 ? api.delete(`/adcp-agents/${one(ids.agents)}`) : undefined),
    // Disabled only: an agent's answers would arrive at random times.
    syndicate: async () => {
      const source = one(ids.sources);
      return api.post(`/advertisers/${source?.advertiserId}/syndicate`, {
        resourceType: 'EVENT_SOURCE',
        resourceId: source?.key,
        adcpAgentIds: [one(ids.agents)],
        enabled: false,
      });
    },
    startSession: async () =>
      api.post(`/campaigns/${one(ids.campaigns)?.id}/creative-sessions`, { title: name() }),
    evaluateSession: async () => {
      const path = `/campaigns/${one(ids.campaigns)?.id}/creative-sessions`;
      const sessions = (await api.get<{ sessions?: { id: string }[] }>(path)).body.data?.sessions ?? [];
      return api.post(`${path}/${one(sessions)?.id}/evaluate`, {});
    },
  };
  const kinds = Object.keys(changes);
  return async (kind = one(kinds) ?? ''): Promise<void> => {
    await changes[kind]?.(one(ids.advertisers) ?? 0);
  };
};

/** Gives each list a first item, and repeats requests that may fail. */
const FIRST = [
  'createAdvertiser',
  'createCampaign',
  'createCreative',
  'createInCampaign',
  ...Array.from({ length: 3 }, () => ['addAsset', 'syncSources', 'syncCatalogs', 'syncAudiences']).flat(),
  'issueKey',
  'connect',
  'mapAccount',
  'addAgent',
  'syndicate',
  ...Array.from({ length: 3 }, () => 'startSession'),
];

/** Endings of the paths whose lists must not stay empty. */
const LISTED = [
  'advertisers',
  'campaigns',
  'creatives',
  'assets',
  'event-sources',
  'catalogs',
  'adcp-agents',
  'sales-agents',
  'syndication-status',
  'audiences',
  'api-keys',
  'connections',
];

/** Paths of all lists and their pages. */
const listsOf = ({ advertisers, campaigns }: CreatedIds): readonly string[] => [
  '/advertisers',
  '/advertisers?status=ALL&take=2&skip=1',
  '/campaigns?take=3',
  '/adcp-agents?take=2',
  '/sales-agents?skip=1',
  '/api-keys?take=200',
  '/api-keys?take=2&skip=1',
  CONNECTIONS,
  `${CONNECTIONS}?accountsOffset=1&mappingsOffset=1`,
  `${CONNECTIONS}?skip=1`,
  '/creative-engines/2/connections',
  ...advertisers
    .slice(0, 3)
    .flatMap((id) => [
      `/campaigns?advertiserId=${id}`,
      `/advertisers/${id}/creatives?take=2&skip=1`,
      `/advertisers/${id}/assets?take=2`,
      `/advertisers/${id}/event-sources?take=2`,
      `/advertisers/${id}/catalogs`,
      `/advertisers/${id}/audiences`,
      `/advertisers/${id}/audiences?take=1&skip=1`,
      `/advertisers/${id}/syndication-status?take=1`,
    ]),
  ...campaigns
    .slice(0, 4)
    .flatMap(({ id }) => [
      `/campaigns/${id}/creatives`,
      `/campaigns/${id}/creatives?take=1`,
      `/campaigns/${id}/creative-sessions`,
    ]),
];

interface ListSnapshot {
  readonly path: string;
  readonly status: number;
  readonly data: unknown;
  readonly pagination: unknown;
}

const look = async (api: Api, path: string, more = ''): Promise<ListSnapshot> => {
  const { status, body } = await untilDefinite(() => api.get(`${path}${more}`));
  const { data, meta }: Partial<ApiEnvelope<unknown>> = body;
  // The use of a key is not an event, so a list of the past leaves it out.
  const isNow = path.startsWith('/api-keys') && more === '';
  return { path, status, data: isNow ? withoutUses(data) : data, pagination: meta?.pagination };
};

const withoutUses = (keys: unknown): unknown =>
  (keys as readonly { readonly lastUsedAt?: string }[]).map((key) => {
    const { lastUsedAt: _, ...rest } = key;
    return rest;
  });

/** Reads all pages of a list with cursors. */
const walk = async (api: Api, path: string, more = ''): Promise<readonly unknown[]> => {
  const pages: unknown[] = [];
  let cursor: string | undefined = '';
  while (cursor !== undefined) {
    const given: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await untilDefinite(() =>
      api.get<{ sessions: unknown; nextCursor?: string }>(`${path}?limit=2${given}${more}`),
    );
    pages.push(body.data.sessions);
    cursor = body.data.nextCursor;
  }
  return pages;
};

it.each([1, 2, 3].slice(0, amount(2, 3)))(
  'every past list equals the list at that time: history %i',
  async (seed) => {
    const { api } = await service.openAccount(`History ${seed}`);
    const random = randomFrom(seed);
    const ids: CreatedIds = {
      advertisers: [],
      campaigns: [],
      creatives: [],
      assets: [],
      agents: [],
      sources: [],
      keys: [],
      connections: [],
    };
    const change = changer(api, random, ids);
    const began = new Date().toISOString();
    await pause(3);
    const moments: {
      at: string;
      seen: readonly ListSnapshot[];
      walks: ReadonlyMap<string, readonly unknown[]>;
    }[] = [];
    for (const kind of FIRST) await change(kind);
    for (let round = 0; round < 6; round += 1) {
      for (let n = 0; n < 20 && round > 0; n += 1) await change();
      await pause(3);
      const at = new Date().toISOString();
      await pause(3);
      const seen: ListSnapshot[] = [];
      for (const path of listsOf(ids)) seen.push(await look(api, path));
      const walks = new Map<string, readonly unknown[]>();
      for (const { id } of ids.campaigns.slice(0, 2)) {
        const path = `/campaigns/${id}/creative-sessions`;
        walks.set(path, await walk(api, path));
      }
      moments.push({ at, seen, walks });
    }
    // Each kind of list had items; otherwise the comparison would prove nothing.
    const whole = moments.flatMap(({ seen }) => seen);
    expect(whole.every(({ status }) => status === 200)).toBe(true);
    for (const kind of LISTED) {
      const ofKind = whole.filter(({ path }) => path.split('?')[0]?.endsWith(`/${kind}`) === true);
      expect([kind, ofKind.some(({ data }) => JSON.stringify(data).includes('createdAt'))]).toEqual([
        kind,
        true,
      ]);
    }
    expect(moments.some(({ walks }) => [...walks.values()].flat(2).length > 2)).toBe(true);
    for (const { at, seen, walks } of moments) {
      for (const then of seen) {
        const mark = then.path.includes('?') ? '&' : '?';
        expect({ at, ...(await look(api, then.path, `${mark}asOf=${at}`)), path: then.path }).toEqual({
          at,
          ...then,
        });
      }
      for (const [path, pages] of walks) expect(await walk(api, path, `&asOf=${at}`)).toEqual(pages);
    }
    // Before the first event: empty, or 404 without an owner.
    for (const path of listsOf(ids)) {
      const { status, data } = await look(api, path, `${path.includes('?') ? '&' : '?'}asOf=${began}`);
      // The account had its first key from the first moment on.
      if (path.startsWith('/api-keys')) continue;
      const isOfOwner = /^\/(advertisers|campaigns)\/./.test(path);
      expect([path, status, data]).toEqual([path, isOfOwner ? 404 : 200, isOfOwner ? null : []]);
    }
  },
  600_000,
);

it('a list with asOf refuses every filter with 400 and its name', async () => {
  const { api } = await service.openAccount('Filters');
  const { id } = (await api.post<{ id: number }>('/advertisers', { name: 'One' })).body.data;
  const asOf = new Date().toISOString();
  for (const [path, filter, value] of [
    ['/advertisers', 'status', 'ARCHIVED'],
    ['/advertisers', 'sandbox', 'true'],
    ['/advertisers', 'name', 'oak'],
    ['/advertisers?status=ALL', 'name', 'oak'],
    ['/campaigns', 'phase', 'active'],
    [`/campaigns?advertiserId=${id}`, 'phase', 'active'],
    [`/advertisers/${id}/creatives`, 'promoted', 'false'],
    [`/advertisers/${id}/creatives`, 'search', 'oak'],
    [`/advertisers/${id}/assets`, 'mediaKind', 'text'],
    [`/advertisers/${id}/catalogs`, 'type', 'store'],
    [`/advertisers/${id}/syndication-status`, 'enabled', 'false'],
    [`/advertisers/${id}/syndication-status`, 'resourceId', 'web'],
  ] as const) {
    const mark = path.includes('?') ? '&' : '?';
    const filtered = `${path}${mark}${filter}=${value}`;
    expect([filtered, (await untilDefinite(() => api.get(filtered))).status]).toEqual([filtered, 200]);
    const refused = await untilDefinite(() => api.get(`${filtered}&asOf=${asOf}`));
    expect([filtered, refusalOf(refused)]).toEqual([filtered, invalid(filter)]);
  }
});

it('a list with asOf reads at most 20,000 entries of a campaign, and is 400 beyond', async () => {
  const own = await service.openAccount('Long');
  const made = async <Data>(path: string, body: object): Promise<Data> => {
    const key = { 'Idempotency-Key': randomUUID() };
    return (await untilDefinite(() => own.api.post<Data>(path, body, key))).body.data;
  };
  const { id: advertiserId } = await made<{ id: number }>('/advertisers', { name: 'One' });
  const { id: campaign } = await made<{ id: string }>('/campaigns', { advertiserId, name: 'Spring' });
  await pause(3);
  const at = new Date().toISOString();
  const lists = [`/campaigns/${campaign}/creatives`, `/campaigns/${campaign}/creative-sessions`];
  const asOf = (api: Api, path: string) => untilDefinite(() => api.get(`${path}?asOf=${at}`));
  for (const path of lists) expect((await asOf(own.api, path)).status).toBe(200);
  for (let from = 1; from <= 20_000; from += 1_000) {
    await service.pool.query(
      `insert into audit_campaigns (customer_id, campaign_id, occurred_at, position)
       select c.customer_id, c.campaign_id, c.occurred_at, 'p' || n
       from (select * from audit_campaigns where customer_id = $1 limit 1) c,
         generate_series($2::int, $2::int + 999) n`,
      [own.customerId, from],
    );
  }
  for (const path of lists) {
    const refused = await asOf(own.api, path);
    expect([refusalOf(refused), refused.body.error?.details]).toEqual([invalid('asOf'), { limit: 20_000 }]);
  }
  // Another account gets 404, as without asOf.
  const other = await service.openAccount('Other');
  for (const path of [...lists, `/advertisers/${advertiserId}/creatives`]) {
    expect((await asOf(other.api, path)).status).toBe(404);
  }
});

interface ListedKey {
  readonly id: string;
  readonly name: string;
  readonly maskedKey: string;
  readonly status: string;
  readonly expiresAt?: string;
}

it('API keys with asOf are those of the account, masked, that had not ended 90 days before', async () => {
  const own = await service.openAccount('Keys');
  const other = await service.openAccount('Keys of another');
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const issue = async (body: object) =>
    (await own.api.post<ListedKey & { readonly key: string }>('/api-keys', body)).body.data;
  const expiring = await issue({ name: 'Expiring', expiresAt });
  const lasting = await issue({ name: 'Lasting' });
  const revoked = await issue({ name: 'Revoked' });
  await pause(3);
  const before = new Date().toISOString();
  await pause(3);
  expect((await own.api.delete(`/api-keys/${revoked.id}`)).status).toBe(204);
  const after = new Date().toISOString();
  const listed = async (at: string) => {
    const { body, text } = await own.api.get<readonly ListedKey[]>(`/api-keys?asOf=${at}`);
    expect(text).not.toMatch(/lastUsedAt|"key"/);
    for (const { key } of [expiring, lasting, revoked]) expect(text).not.toContain(key.slice(-20));
    return body.data.map(({ name, status }) => `${name} ${status}`);
  };
  const days = (some: number, from: string): string =>
    new Date(Date.parse(from) + some * 86_400_000).toISOString();
  expect((await listed(before)).slice(0, 3)).toEqual(['Revoked ACTIVE', 'Lasting ACTIVE', 'Expiring ACTIVE']);
  expect((await listed(after)).slice(0, 3)).toEqual(['Revoked REVOKED', 'Lasting ACTIVE', 'Expiring ACTIVE']);
  expect((await listed(expiresAt)).slice(0, 3)).toEqual([
    'Revoked REVOKED',
    'Lasting ACTIVE',
    'Expiring EXPIRED',
  ]);
  expect((await listed(days(91, expiresAt))).slice(0, 1)).toEqual(['Lasting ACTIVE']);
  expect(await listed(days(91, expiresAt))).toHaveLength(2);
  expect(await listed('2020-01-01T00:00:00Z')).toEqual([]);
  // Another account, and a user without admin rights.
  const theirs = await other.api.get<readonly ListedKey[]>(`/api-keys?asOf=${after}`);
  expect(theirs.body.data).toHaveLength(1);
  expect(theirs.text).not.toMatch(/Expiring|Lasting|Revoked/);
  const reader = await issue({ name: 'Reader', scopes: ['exchange:read'] });
  const refused = await own.api.get(`/api-keys?asOf=${after}`, { Authorization: `Bearer ${reader.key}` });
  expect(refused.status).toBe(403);
});

it("connections with asOf have their advertisers' former names, and belong to their account", async () => {
  const own = await service.openAccount('Connected');
  const other = await service.openAccount('Not connected');
  const { id } = (await own.api.post<{ id: number }>('/advertisers', { name: 'Before' })).body.data;
  interface Connection {
    readonly id: string;
    readonly accounts: readonly { readonly id: string }[];
  }
  const key = 'sbx_the-key-of-a-buyer-9876';
  const { data } = (await own.api.post<Connection>(CONNECTIONS, { apiKey: key })).body;
  const [account] = data.accounts;
  const mapping = `${CONNECTIONS}/${data.id}/accounts/${account?.id}/advertiser`;
  expect((await own.api.post(mapping, { advertiserId: id })).status).toBe(201);
  await pause(3);
  const at = new Date().toISOString();
  await pause(3);
  await own.api.put(`/advertisers/${id}`, { name: 'After' });
  expect((await own.api.delete(`${CONNECTIONS}/${data.id}`)).status).toBe(204);
  expect((await own.api.get(CONNECTIONS)).body.data).toEqual([]);
  const then = await own.api.get(`${CONNECTIONS}?asOf=${at}`);
  expect(then.body.data).toMatchObject([
    { id: data.id, status: 'connected', accountMappings: [{ advertiserName: 'Before' }] },
  ]);
  expect(then.text).toContain('****9876');
  expect(then.text).not.toContain(key);
  expect((await other.api.get(`${CONNECTIONS}?asOf=${at}`)).body.data).toEqual([]);
  expect((await own.api.get(`/creative-engines/999/connections?asOf=${at}`)).status).toBe(404);
});

it('an audience with asOf has an unknown size for an event without a recorded count', async () => {
  const own = await service.openAccount('Audiences');
  const other = await service.openAccount('No audiences');
  const { id } = (await own.api.post<{ id: number }>('/advertisers', { name: 'One' })).body.data;
  const path = `/advertisers/${id}/audiences`;
  const moments: string[] = [];
  for (const externalId of ['a', 'b']) {
    const add = [{ externalId, hashedEmail: 'e'.repeat(64) }];
    expect((await own.api.post(`${path}/sync`, { audiences: [{ audienceId: 'vip', add }] })).status).toBe(
      202,
    );
    await pause(3);
    moments.push(new Date().toISOString());
    await pause(3);
  }
  const seen = async () =>
    Promise.all(
      moments.map(async (at) => {
        const { body } = await own.api.get<{ audiences: { status: string; uploadedCount: number }[] }>(
          `${path}?asOf=${at}`,
        );
        return body.data.audiences.map(({ status, uploadedCount }) => [status, uploadedCount]);
      }),
    );
  expect(await seen()).toEqual([[['READY', 1]], [['READY', 2]]]);
  // As an older projector left it, which recorded no counts.
  await service.pool.query('delete from audience_sizes where customer_id = $1', [own.customerId]);
  // After its last event, the size is the current one.
  expect(await seen()).toEqual([[['PROCESSING', 0]], [['READY', 2]]]);
  for (const at of moments) expect((await other.api.get(`${path}?asOf=${at}`)).status).toBe(404);
});

it('an audience with asOf has its former size for 400 days; beyond, its list is 400', async () => {
  const own = await service.openAccount('Sizes');
  const { customerId } = own;
  const advertiserId = 2_000_000_000;
  const at = (daysAgo: number): string => new Date(Date.now() - daysAgo * 86_400_000).toISOString();
  const context = { customerId, actor: 'test', requestId: 'test' };
  const { id } = (await own.api.post<{ id: number }>('/advertisers', { name: 'New' })).body.data;
  const [like] = await service.eventsOf(advertiserStream(customerId, id));
  const created = {
    type: 'AdvertiserCreated',
    data: { ...like?.data, advertiserId, name: 'Old' },
    occurredAt: at(500),
  };
  await service.store.append(
    advertiserStream(customerId, advertiserId),
    toNewEvents([created], { ...context, commandId: randomUUID() }, advertiserEvents),
    'no-stream',
  );
  const audienceId = resourceIdOf(AUDIENCE, customerId, advertiserId, 'vip');
  for (const [n, daysAgo] of [450, 410, 390].entries()) {
    const now = at(daysAgo);
    const changes = { add: [[`p${n}`, 'e'.repeat(64), null, null] satisfies AudienceMember], remove: [] };
    const batch = await storeMembers(service.store, randomUUID(), changes, { ...context, now });
    await executeCommand(service.store, audienceAggregate, {
      stream: audienceStream(customerId, audienceId),
      command: { type: 'SyncAudience', now, audienceId, customerId, advertiserId, key: 'vip', batch },
      context: { ...context, commandId: randomUUID() },
    });
  }
  const path = `/advertisers/${advertiserId}/audiences`;
  const list = (daysAgo: number) =>
    own.api.get<{ audiences: { uploadedCount: number }[] }>(`${path}?asOf=${at(daysAgo)}`);
  const sizeAt = async (daysAgo: number) => (await list(daysAgo)).body.data.audiences[0]?.uploadedCount;
  const kept = async () =>
    (
      await service.pool.query<{ members: number }>(
        'select members::int from audience_sizes where customer_id = $1 order by revision',
        [customerId],
      )
    ).rows.map(({ members }) => members);
  for (let tries = 0; (await sizeAt(0)) !== 3 && tries < 100; tries++) await pause(100);

  for (const rows of Object.values(expiredRows(service.pool))) await rows.purge(1_000);
  expect(await kept()).toEqual([2, 3]);
  expect([await sizeAt(399.9), await sizeAt(390.1), await sizeAt(389.9), await sizeAt(0)]).toEqual([
    2, 2, 3, 3,
  ]);
  const refused = await list(400.1);
  expect([refusalOf(refused), refused.body.error?.details]).toEqual([invalid('asOf'), { keptDays: 400 }]);
  // Reads without sizes have no such limit, and before its creation the advertiser is 404.
  expect((await own.api.get(`/advertisers/${advertiserId}?asOf=${at(450)}`)).status).toBe(200);
  expect((await list(501)).status).toBe(404);
});
