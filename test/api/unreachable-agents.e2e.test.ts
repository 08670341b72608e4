import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { agentIdOf, type AgentResource } from '../../domain/agents/resource.ts';
import { agentStream } from '../../domain/agents/agent.ts';
import type { SyndicationResource } from '../../domain/syndication/resource.ts';
import { startProgram, type Program } from '../support/program.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { startSandboxAgent, type SandboxAgent } from '../support/sandbox-agent.ts';
import { until } from '../support/until.ts';

/** An AdCP agent that does not answer: its registration, repeated checks, and toggles for it. */

/** The service has no worker: workers run as separate processes on the same stores. */
const settings = { OUTBOUND_ALLOW_LOOPBACK: 'true', AGENT_CHECK_MS: '1500' };
let service: RunningService;
let account: TestAccount;
const started: (SandboxAgent | { stop(): Promise<unknown> })[] = [];
beforeAll(async () => {
  service = await startRunningService({ ...settings, ROLES: 'api,projector' });
  account = await service.openAccount();
});
afterAll(async () => {
  await Promise.all(started.map((one) => one.stop()));
  await service.stop();
});

const startWorker = (): Program => {
  const worker = startProgram({
    ...service.stores,
    ...settings,
    NODE_ENV: 'test',
    PORT: '0',
    ROLES: 'worker',
    LOG_LEVEL: 'silent',
    DATA_DIR: service.dataDir,
    SECRET_KEYS: `test:${'A'.repeat(43)}`,
  });
  started.push({ stop: () => worker.end('SIGKILL') });
  return worker;
};

/** A port at which no program listens. */
const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });

const register = (url: string, more: object = {}) =>
  account.api.post<AgentResource>('/adcp-agents', {
    name: 'Away',
    url,
    protocol: 'MCP',
    auth: { type: 'bearer', token: 'sandbox-agent-token' },
    accountId: 'acct',
    ...more,
  });

const agentNow = async (id: string) => (await account.api.get<AgentResource>(`/adcp-agents/${id}`)).body.data;

const advertiserWithSource = async (): Promise<number> => {
  const { id } = (await account.api.post<{ id: number }>('/advertisers', { name: 'Acme' })).body.data;
  await account.api.post(`/advertisers/${id}/event-sources/sync`, {
    account: { account_id: String(id) },
    event_sources: [{ event_source_id: 'shop' }],
  });
  return id;
};

const toggle = async (advertiserId: number, agentId: string, enabled: boolean) => {
  const answer = await account.api.post<SyndicationResource[]>(`/advertisers/${advertiserId}/syndicate`, {
    resourceId: 'shop',
    adcpAgentIds: [agentId],
    enabled,
  });
  expect(answer.status).toBe(201);
  return answer.body.data[0];
};

const recordNow = async (advertiserId: number) =>
  (await account.api.get<{ items: SyndicationResource[] }>(`/advertisers/${advertiserId}/syndication-status`))
    .body.data.items[0];

describe('an agent that does not answer', () => {
  it('is registered as UNREACHABLE, with the reason in words and the time of the next check', async () => {
    const url = `http://127.0.0.1:${await freePort()}/mcp`;
    const { status, body } = await register(url);
    expect([status, body.data]).toEqual([
      201,
      {
        id: expect.stringMatching(/^agt_/),
        name: 'Away',
        url,
        protocol: 'MCP',
        status: 'UNREACHABLE',
        statusReason: `The agent at ${url} did not answer when it was asked what it offers: The address could not be reached, or did not answer in time. It is asked again at ${body.data.nextCheckAt}.`,
        nextCheckAt: expect.any(String),
        accountId: 'acct',
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    ]);
    expect(Date.parse(body.data.nextCheckAt ?? '') - Date.parse(body.data.createdAt)).toBe(1_000);
    expect(await agentNow(body.data.id)).toEqual(body.data);
    const list = await account.api.get<AgentResource[]>('/adcp-agents');
    expect(list.body.data).toContainEqual(body.data);
    const then = await account.api.get<AgentResource>(`/adcp-agents/${body.data.id}?asOf=2`);
    expect(then.body.data).toEqual(body.data);
    const events = await service.eventsOf(agentStream(account.customerId, agentIdOf(body.data.id) ?? ''));
    expect(events.map(({ type }) => type)).toEqual(['AgentRegistered', 'AgentUnreachable']);
    expect((await account.api.delete(`/adcp-agents/${body.data.id}`)).status).toBe(204);
    await until(
      async () =>
        (await service.pool.query(`select from work_list where kind = 'agent-check'`)).rowCount === 0,
    );
  });

  it('is registered once, however often the request is repeated', async () => {
    const url = `http://127.0.0.1:${await freePort()}/mcp`;
    const send = () =>
      account.api.post(
        '/adcp-agents',
        { name: 'Away', url, protocol: 'MCP' },
        { 'Idempotency-Key': 'an-agent-that-is-away-1' },
      );
    const [first, again] = [await send(), await send()];
    expect([first.status, again.text]).toEqual([201, first.text]);
  });

  it('accepts a toggle and names the obstacle immediately; when it answers, the resource is sent', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/mcp`;
    const { id } = (await register(url)).body.data;
    const advertiserId = await advertiserWithSource();
    const record = await toggle(advertiserId, id, true);
    expect([record?.status, record?.enabled, record?.errorMessage]).toEqual([
      'PENDING',
      true,
      expect.stringMatching(
        /^The agent at http:\S+\/mcp did not answer when .* It is asked again at \S+Z\. This begins when the agent answers\.$/,
      ),
    ]);
    expect((await recordNow(advertiserId))?.errorMessage).toBe(record?.errorMessage);

    // A worker checks the agent without success and is killed. The next check must not depend on its memory.
    const first = startWorker();
    await until(async () => (await eventsOfAgent(id)).length >= 3, 30_000);
    await first.end('SIGKILL');
    const twice = await agentNow(id);
    expect([twice.status, (await recordNow(advertiserId))?.status]).toEqual(['UNREACHABLE', 'PENDING']);

    const agent = await startSandboxAgent('sandbox-agent-token', port);
    started.push(agent);
    startWorker();
    await until(async () => (await agentNow(id)).status === 'ACTIVE', 60_000);
    const { status, statusReason, nextCheckAt, supportedTasks } = await agentNow(id);
    expect({ status, statusReason, nextCheckAt, supportedTasks }).toEqual({
      status: 'ACTIVE',
      supportedTasks: ['sync_audiences', 'sync_catalogs', 'sync_event_sources'],
    });
    await until(async () => (await recordNow(advertiserId))?.status === 'COMPLETED', 60_000);
    expect((await recordNow(advertiserId))?.errorMessage).toBeNull();
    expect(await agent.eventSources('acct')).toEqual(['shop']);
    // No attempt of the record was made while the agent was unavailable.
    const types = (await service.eventsOfAccount(account)).map(({ type }) => type);
    expect(types.filter((type) => type === 'SyndicationFailed')).toEqual([]);
    // The history contains each check.
    const history = await account.api.get<{ events: { type: string; actor: unknown }[] }>(
      `/adcp-agents/${id}/history`,
    );
    expect(history.body.data.events.map(({ type }) => type)).toEqual([
      'AgentRegistered',
      ...Array.from({ length: history.body.data.events.length - 2 }, () => 'AgentUnreachable'),
      'AgentAnswered',
    ]);
    expect(
      (
        await service.pool.query(`select from work_list where kind = 'agent-check' and key = $1`, [
          agentIdOf(id),
        ])
      ).rowCount,
    ).toBe(0);
  }, 120_000);

  it('accepts a toggle that disables a resource, without an obstacle', async () => {
    const { id } = (await register(`http://127.0.0.1:${await freePort()}/mcp`)).body.data;
    const advertiserId = await advertiserWithSource();
    await toggle(advertiserId, id, true);
    const off = await toggle(advertiserId, id, false);
    expect([off?.status, off?.errorMessage]).toEqual(['DISABLED', null]);
  });

  it('is registered with the status of another program that answers at its address', async () => {
    const other = createHttpServer((_, response) => response.writeHead(404).end('a shop'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    started.push({ stop: () => new Promise((resolve) => other.close(resolve)) });
    const { port } = other.address() as AddressInfo;
    const { status, statusReason } = (await register(`http://127.0.0.1:${port}/mcp`)).body.data;
    expect([status, statusReason]).toEqual([
      'UNREACHABLE',
      expect.stringContaining(': The agent answered with HTTP status 404. It is asked again at '),
    ]);
  });
});

const eventsOfAgent = (id: string) => service.eventsOf(agentStream(account.customerId, agentIdOf(id) ?? ''));
