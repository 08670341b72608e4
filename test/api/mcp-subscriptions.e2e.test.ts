import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as v2 from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { addSeller, connectSeller } from '../../command/sellers/commands.ts';
import type { CampaignResource } from '../../domain/campaigns/resource.ts';
import { systemClock as clock } from '../../shared/async/clock.ts';
import { startAnotherNode, type AnotherNode } from '../support/another-node.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { startSellers, type TestSellers } from '../support/sellers.ts';
import { until } from '../support/until.ts';

/** Clients follow resources: on one process, which does not apply events, while changes are made on another. */

const USER_STREAMS_MAX = 10;
let service: RunningService;
let node: AnotherNode;
let sellers: TestSellers;
beforeAll(async () => {
  [service, sellers] = await Promise.all([
    startRunningService({ OUTBOUND_ALLOW_LOOPBACK: 'true', PROPOSAL_SELLER_MS: '4000' }),
    startSellers(),
  ]);
  node = await startAnotherNode(service);
});
afterAll(async () => {
  await node.service.stop();
  await Promise.all([service.stop(), sellers.stop()]);
});

const authorized = ({ apiKey }: TestAccount) => ({
  requestInit: { headers: { Authorization: `Bearer ${apiKey}` } },
});
const url = (): URL => new URL(`${node.baseUrl}/mcp`);

interface Follower {
  readonly client: v2.Client;
  readonly updated: string[];
}

const modern = async (account: TestAccount): Promise<Follower> => {
  const client = new v2.Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  const updated: string[] = [];
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    updated.push(params.uri);
  });
  await client.connect(new v2.StreamableHTTPClientTransport(url(), authorized(account)));
  return { client, updated };
};

const newAdvertiser = async ({ api }: TestAccount): Promise<number> =>
  (await api.post<{ id: number }>('/advertisers', { name: 'Acme' })).body.data.id;

const silentSeller = async (): Promise<number> => {
  const { store, secrets } = service.installation;
  const { sellerId } = await addSeller({ store, clock }, { name: 'Silent', channels: [] });
  const agent = { url: sellers.url('silent'), protocol: 'MCP' } as const;
  await connectSeller({ store, secrets, clock }, sellerId, agent);
  return sellerId;
};

const rename = ({ api }: TestAccount, id: number, name: string) => api.put(`/advertisers/${id}`, { name });

describe('protocol 2026-07-28', () => {
  it('reports the followed resources only, of the own account only', async () => {
    const [account, other] = [await service.openAccount(), await service.openAccount()];
    const [followed, unfollowed] = [await newAdvertiser(account), await newAdvertiser(account)];
    const foreign = await newAdvertiser(other);
    const { client, updated } = await modern(account);
    const addressOf = (id: number): string => `exchange://advertiser/${id}`;
    const listening = await client.listen({
      resourceSubscriptions: [addressOf(followed), addressOf(foreign)],
      toolsListChanged: true,
    });
    expect(listening.honoredFilter).toEqual({
      resourceSubscriptions: [addressOf(followed), addressOf(foreign)],
    });
    await rename(other, foreign, 'Foreign');
    await rename(account, unfollowed, 'Not followed');
    await rename(account, followed, 'Followed');
    await until(async () => updated.length > 0);
    expect(updated).toEqual([addressOf(followed)]);
    const { contents } = await client.readResource({ uri: addressOf(followed) });
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ name: 'Followed' });
    await listening.close();
    await client.close();
  });

  it('reports the end of a proposal request', async () => {
    const account = await service.openAccount();
    const { api } = account;
    const advertiserId = await newAdvertiser(account);
    const body = { advertiserId, name: 'Spring', brief: 'Reach gardeners' };
    const { id } = (await api.post<CampaignResource>('/campaigns', body)).body.data;
    const { client, updated } = await modern(account);
    const { executionId } = (
      await api.post<{ executionId: string }>(`/campaigns/${id}/proposal-requests`, {
        sellerIds: [await silentSeller()],
      })
    ).body.data;
    const uri = `exchange://campaign/${id}/proposal-request/${executionId}`;
    const statusNow = async (): Promise<string> => {
      const { contents } = await client.readResource({ uri });
      return (JSON.parse((contents[0] as { text: string }).text) as { status: string }).status;
    };
    await client.listen({ resourceSubscriptions: [uri] });
    expect([await statusNow(), updated]).toEqual(['running', []]);
    await until(async () => updated.length > 0);
    expect([await statusNow(), updated]).toEqual(['failed', [uri]]);
    await client.close();
  });

  it('ends when its credential is revoked, gracefully', async () => {
    const account = await service.openAccount();
    const made = await account.api.post<{ id: string; key: string }>('/api-keys', { name: 'For an agent' });
    const { client } = await modern({ ...account, apiKey: made.body.data.key });
    const listening = await client.listen({ resourceSubscriptions: ['exchange://account'] });
    await account.api.delete(`/api-keys/${made.body.data.id}`);
    expect(await listening.closed).toBe('graceful');
  });

  it('counts like realtime streams of the user', async () => {
    const account = await service.openAccount();
    const { client } = await modern(account);
    const filter = { resourceSubscriptions: ['exchange://account'] };
    for (let n = 0; n < USER_STREAMS_MAX; n += 1) await client.listen(filter);
    await expect(client.listen(filter)).rejects.toThrow(/429|limit/);
    await client.close();
  });
});

describe('a session', () => {
  it('follows resources on its stream, also when another process gets the subscription', async () => {
    const account = await service.openAccount();
    const [first, second] = [await newAdvertiser(account), await newAdvertiser(account)];
    const last = await newAdvertiser(account);
    const client = new Client({ name: 'test', version: '1.0.0' });
    const updated: string[] = [];
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      updated.push(params.uri);
    });
    // Its GET stream is at one process, its other requests at the other.
    const fetch = (to: string | URL, init?: RequestInit) => {
      const address = new URL(to);
      if (init?.method !== 'GET') address.port = String(service.port);
      return globalThis.fetch(address, init);
    };
    await client.connect(new StreamableHTTPClientTransport(url(), { ...authorized(account), fetch }));
    const addressOf = (id: number): string => `exchange://advertiser/${id}`;
    await client.subscribeResource({ uri: addressOf(first) });
    let name = 0;
    await until(async () => {
      name += 1;
      await rename(account, second, `Not followed ${name}`);
      await rename(account, first, `Followed ${name}`);
      return updated.length > 0;
    });
    // The feed has an order: what happened so far has been reported when this is.
    await client.subscribeResource({ uri: addressOf(last) });
    await rename(account, last, 'Last');
    await until(async () => updated.includes(addressOf(last)));
    expect(new Set(updated.splice(0))).toEqual(new Set([addressOf(first), addressOf(last)]));
    await client.subscribeResource({ uri: addressOf(second) });
    await client.unsubscribeResource({ uri: addressOf(first) });
    await rename(account, first, 'No more');
    await rename(account, second, 'Now');
    await until(async () => updated.length > 0);
    expect(updated).toEqual([addressOf(second)]);
    await client.close();
  });

  it('follows only resources of this surface, and at most 100', async () => {
    const account = await service.openAccount();
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(url(), authorized(account)));
    for (const uri of ['exchange://secret/1', 'https://example.com/', 'exchange://advertiser/1/2']) {
      await expect(client.subscribeResource({ uri })).rejects.toThrow(/not found/i);
    }
    for (let id = 1; id <= 100; id += 1)
      await client.subscribeResource({ uri: `exchange://advertiser/${id}` });
    await client.subscribeResource({ uri: 'exchange://advertiser/1' });
    await expect(client.subscribeResource({ uri: 'exchange://advertiser/101' })).rejects.toThrow(
      /at most 100/,
    );
    await client.close();
  });
});
