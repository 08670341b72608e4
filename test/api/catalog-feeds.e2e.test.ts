import { createHash } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createFetchFeed } from '../../command/workers/catalog-feeds/fetch-feed.ts';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { AgentResource } from '../../domain/agents/resource.ts';
import type { CatalogResource } from '../../domain/catalogs/resource.ts';
import type { SyndicationResource } from '../../domain/syndication/resource.ts';
import { createOutboundFetch } from '../../shared/outbound/outbound-fetch.ts';
import { hostileUrls } from '../support/hostile-urls.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { startSandboxAgent, type SandboxAgent } from '../support/sandbox-agent.ts';
import { until } from '../support/until.ts';

/** Feeds of catalogs: fetched after a sync, again on schedule, and sent to agents when they change. */

let service: RunningService;
let agent: SandboxAgent;
let account: TestAccount;
let advertiserId: number;
let shop: Server;
/** The feed server's answer. */
let serve: RequestListener;
let requests = 0;
let connections = 0;
let origin = '';
beforeAll(async () => {
  shop = createServer((request, response) => {
    requests += 1;
    serve(request, response);
  });
  shop.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
  service = await startRunningService({ OUTBOUND_ALLOW_LOOPBACK: 'true' });
  await until(async () => (await fetch(`${service.baseUrl}/ready`)).status === 200);
  agent = await startSandboxAgent();
});
beforeEach(async () => {
  account = await service.openAccount();
  advertiserId = (await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data.id;
  requests = 0;
});
afterAll(async () => {
  await service.stop();
  await agent.stop();
  shop.close();
  shop.closeAllConnections();
});

const sends =
  (body: string): RequestListener =>
  (_request, response) =>
    void response.end(body);
const sync = async (more: object = {}): Promise<string | undefined> => {
  const answer = await account.api.post<{ catalogs: { action: string }[] }>(
    `/advertisers/${advertiserId}/catalogs/sync`,
    { catalogs: [{ catalog_id: 'shoes', type: 'product', url: `${origin}/feed.json`, ...more }] },
  );
  return answer.body.data.catalogs[0]?.action;
};
const shown = async (): Promise<CatalogResource | undefined> => {
  const path = `/advertisers/${advertiserId}/catalogs`;
  return (await account.api.get<{ catalogs: CatalogResource[] }>(path)).body.data.catalogs[0];
};
const settled = async (wanted: (catalog: CatalogResource) => boolean): Promise<CatalogResource> => {
  let catalog: CatalogResource | undefined;
  await until(async () => {
    catalog = await shown();
    return catalog !== undefined && wanted(catalog);
  }, 15_000);
  if (catalog === undefined) throw new Error('no catalog');
  return catalog;
};
const isRead = ({ feed }: CatalogResource): boolean => feed?.status === 'READ';
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
/** Makes the feed due now. */
const due = () =>
  service.pool.query(
    `update work_list set due_at = now(), not_before = now() where kind = 'catalog-feed' and customer_id = $1`,
    [account.customerId],
  );
const nextIn = async (): Promise<number> => {
  const { rows } = await service.pool.query<{ minutes: number }>(
    `select least(1e9, (extract(epoch from due_at) - extract(epoch from now())) / 60)::float8 as minutes from work_list
     where kind = 'catalog-feed' and customer_id = $1`,
    [account.customerId],
  );
  return rows[0]?.minutes ?? NaN;
};

describe('a feed', () => {
  it('is fetched after the sync, and again on schedule; changes are sent to agents', async () => {
    serve = sends('[{"id":1},{"id":2}]');
    expect(await sync({ update_frequency: 'hourly' })).toBe('created');
    expect(await settled(isRead)).toMatchObject({
      version: 1,
      itemCount: 0,
      contentHash: hashOf('[{"id":1},{"id":2}]'),
      feed: { status: 'READ', bytes: 19, readAt: expect.any(String) },
    });
    await until(async () => (await nextIn()) > 50);
    expect(await nextIn()).toBeLessThan(64);

    const registered = await account.api.post<AgentResource>('/adcp-agents', {
      name: 'Sandbox',
      url: agent.url,
      protocol: 'MCP',
      auth: { type: 'bearer', token: agent.token },
      accountId: `feeds-${account.customerId}`,
    });
    const toggled = { resourceId: 'shoes', adcpAgentIds: [registered.body.data.id], enabled: true };
    await account.api.post(`/advertisers/${advertiserId}/syndicate`, toggled);
    const callsOf = async (): Promise<number> => (await agent.state()).calls.length;
    const completed = async (): Promise<boolean> => {
      const path = `/advertisers/${advertiserId}/syndication-status`;
      const answer = await account.api.get<{ items: SyndicationResource[] }>(path);
      // 503 while the read model lags.
      return answer.status === 200 && answer.body.data.items[0]?.status === 'COMPLETED';
    };
    await until(completed);
    const calls = await callsOf();

    // The same content: no new version.
    await due();
    await until(() => Promise.resolve(requests === 2));
    await until(async () => (await nextIn()) > 50);
    serve = sends('[{"id":1}]');
    await due();
    expect(await settled(({ version }) => version === 2)).toMatchObject({
      itemCount: 0,
      contentHash: hashOf('[{"id":1}]'),
    });
    await until(async () => (await callsOf()) === calls + 1 && (await completed()));
    const types = (await service.eventsOfAccount(account)).map(({ type }) => type);
    expect(types.filter((type) => type === 'CatalogFeedRead')).toHaveLength(2);
    expect(types.filter((type) => type === 'SyndicationRefreshed')).toHaveLength(1);
  });

  it('that cannot be fetched shows the reason, is retried, and keeps its last content', async () => {
    serve = sends('[{"id":1}]');
    await sync();
    await settled(isRead);
    // The feed has no schedule: each sync requests one fetch.
    expect(await nextIn()).toBeGreaterThan(1e8);
    serve = (_request, response) => void response.writeHead(410).end('secret');
    expect(await sync()).toBe('unchanged');
    await due();
    const failing = await settled(({ feed }) => feed?.status === 'FAILED');
    expect(failing).toMatchObject({
      version: 1,
      itemCount: 0,
      feed: {
        errorMessage: "The feed's server answered with HTTP status 410.",
        failingSince: expect.any(String),
      },
    });
    await until(async () => {
      const seconds = await nextIn();
      return seconds > 0.5 && seconds < 5;
    });
    serve = sends('[{"id":1}]');
    await due();
    expect((await settled(isRead)).feed).toEqual({
      ...failing.feed,
      status: 'READ',
      errorMessage: undefined,
      failingSince: undefined,
    });
  });

  it('fails on a redirect, above the size limit, after the time limit, and when it is cut off', async () => {
    serve = (request, response) =>
      request.url === '/secret'
        ? void response.end('[]')
        : void response.writeHead(302, { location: '/secret' }).end();
    await sync();
    expect((await settled(({ feed }) => feed?.status === 'FAILED')).feed?.errorMessage).toMatch(
      /led elsewhere/,
    );
    expect(requests).toBe(1);
    const logged = async (outcome: string): Promise<readonly string[]> => {
      const answer = await account.api.get<{ logs: readonly { action: string }[] }>(
        `/audit-logs?resourceTypes=CATALOG&outcome=${outcome}`,
      );
      return answer.status === 200 ? answer.body.data.logs.map(({ action }) => action) : [];
    };
    await until(async () => (await logged('failed')).includes('CatalogFeedFailed'));
    expect(await logged('success')).not.toContain('CatalogFeedFailed');
    const fetchFeed = createFetchFeed(
      createOutboundFetch({ allowLoopback: true, timeoutMs: 500, bytesMax: 1_000 }),
    );
    const read = (listener: RequestListener) => {
      serve = listener;
      return fetchFeed({ kind: 'feed', url: origin }, new AbortController().signal);
    };
    const endless: RequestListener = (_request, response) => {
      const timer = setInterval(() => response.write('[1,'.repeat(50)), 1);
      response.on('close', () => clearInterval(timer));
    };
    expect(await read(endless)).toMatchObject({ outcome: 'failed', reason: /too long/ });
    const mute: RequestListener = (_request, response) => void response.write('[');
    expect(await read(mute)).toMatchObject({ outcome: 'failed', reason: /in time/ });
    const cut: RequestListener = (_request, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('[1]');
      setTimeout(() => response.destroy(), 20);
    };
    expect(await read(cut)).toMatchObject({ outcome: 'failed' });
  });
});

describe('an address that is not on the public internet', () => {
  it('is not fetched in any form, nor by a name that now resolves to it', async () => {
    const before = connections;
    const guarded = createFetchFeed(
      createOutboundFetch({
        allowLoopback: false,
        timeoutMs: 2_000,
        bytesMax: 1_000,
        resolve: (_name, onAnswer) => onAnswer(null, [{ address: '127.0.0.1', family: 4 }]),
      }),
    );
    const forms = hostileUrls(Number(new URL(origin).port)).filter((form) => URL.canParse(form));
    for (const url of [...forms, 'https://rebound.example.com/']) {
      const answer = await guarded({ kind: 'feed', url }, new AbortController().signal);
      expect([url, answer.outcome]).toEqual([url, 'failed']);
    }
    expect(connections).toBe(before);
  });
});
