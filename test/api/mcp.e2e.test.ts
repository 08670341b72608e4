import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as v2 from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { createMcpSessions } from '../../mcp/sessions.ts';
import { startAnotherNode, type AnotherNode } from '../support/another-node.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** The tools as the official clients see them, and the transport as any client may misuse it. */

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount('Agents');
});
afterAll(() => service.stop());

const urlOf = (path = '/mcp'): URL => new URL(service.baseUrl + path);
const credential = (apiKey = account.apiKey) => ({ Authorization: `Bearer ${apiKey}` });
const info = { name: 'test', version: '1.0.0' };

const connectV1 = async () => {
  const client = new Client(info);
  const requestInit = { headers: credential() };
  const transport = new StreamableHTTPClientTransport(urlOf('/mcp/v3'), { requestInit });
  await client.connect(transport);
  return { client, transport };
};
const connectV2 = async (mode: 'auto' | 'legacy') => {
  const client = new v2.Client(info, { versionNegotiation: { mode } });
  const requestInit = { headers: credential() };
  const transport = new v2.StreamableHTTPClientTransport(urlOf(), { requestInit });
  await client.connect(transport);
  return { client, transport };
};

describe.each([
  ['version 1', connectV1],
  ['version 2, without sessions', () => connectV2('auto')],
  ['version 2, with sessions', () => connectV2('legacy')],
])('the official client, %s', (_name, connect) => {
  it('lists the tools and calls one', async () => {
    const { client } = await connect();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('get_status');
    const called = await client.callTool({ name: 'get_status', arguments: {} });
    expect(called).toMatchObject({
      structuredContent: {
        account: { company: 'Agents' },
        scopes: expect.arrayContaining(['exchange:read']),
      },
    });
    await client.close();
  });

  it('reads a refusal as a result', async () => {
    const { client } = await connect();
    const refused = await client.callTool({ name: 'get_status', arguments: { unknown: 1 } });
    expect(refused).toMatchObject({
      isError: true,
      structuredContent: { code: 'VALIDATION_ERROR', recovery: 'correctable' },
    });
    await client.close();
  });
});

type Rpc = Readonly<Record<string, unknown>>;

const post = async (body: unknown, headers: Readonly<Record<string, string>> = {}) => {
  const answer = await fetch(urlOf(), {
    method: 'POST',
    headers: {
      ...credential(),
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
};
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info },
};
const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };
/** `fetch` always sends the `Host` of the address. */
const statusFor = async (host: string): Promise<number | undefined> => {
  const sent = request(urlOf(), {
    method: 'POST',
    headers: {
      ...credential(),
      Host: host,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    },
  });
  sent.end(JSON.stringify(initialize));
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
};
const begin = async (headers: Readonly<Record<string, string>> = {}): Promise<string> =>
  (await post(initialize, headers)).headers.get('mcp-session-id') ?? '';
const rpcError = (code: number, message: unknown) => ({ jsonrpc: '2.0', error: { code, message }, id: null });
const parsed = ({ text }: { readonly text: string }) => JSON.parse(text) as Rpc;

describe('sessions', () => {
  it('an unknown one is 404, none is 400, and DELETE ends one', async () => {
    const id = await begin();
    expect((await post(ping, { 'Mcp-Session-Id': id })).status).toBe(200);
    const without = await post(ping);
    expect([without.status, parsed(without)]).toEqual([
      400,
      rpcError(-32_000, expect.stringContaining('Mcp-Session-Id')),
    ]);
    const end = () =>
      fetch(urlOf(), { method: 'DELETE', headers: { ...credential(), 'Mcp-Session-Id': id } });
    expect((await end()).status).toBe(204);
    expect((await end()).status).toBe(404);
    const ended = await post(ping, { 'Mcp-Session-Id': id });
    expect([ended.status, parsed(ended)]).toEqual([404, rpcError(-32_001, 'Session not found')]);
  });

  it('belong to a credential', async () => {
    const id = await begin();
    const other = await service.openAccount('Others');
    const refused = await post(ping, { 'Mcp-Session-Id': id, ...credential(other.apiKey) });
    expect(refused.status).toBe(404);
    const second = await account.api.post<{ key: string }>('/api-keys', { name: 'Second' });
    expect((await post(ping, { 'Mcp-Session-Id': id, ...credential(second.body.data.key) })).status).toBe(
      404,
    );
  });

  it('end after an hour without a request', async () => {
    const id = await begin();
    await service.pool.query(`update mcp_sessions set used_at = used_at - interval '59 minutes'`);
    expect((await post(ping, { 'Mcp-Session-Id': id })).status).toBe(200);
    await service.pool.query(`update mcp_sessions set used_at = used_at - interval '59 minutes'`);
    expect((await post(ping, { 'Mcp-Session-Id': id })).status).toBe(200);
    await service.pool.query(`update mcp_sessions set used_at = used_at - interval '60 minutes'`);
    expect((await post(ping, { 'Mcp-Session-Id': id })).status).toBe(404);
  });

  it('end also while a stream is open, which is not a request', async () => {
    const id = await begin();
    const stream = await fetch(urlOf(), {
      headers: { ...credential(), Accept: 'text/event-stream', 'Mcp-Session-Id': id },
    });
    const sessions = createMcpSessions({ pool: service.pool, node: () => 'test', idleMs: 3_600_000 });
    const { rows } = await service.pool.query<{ customer_id: number; credential: string }>(
      `update mcp_sessions set used_at = used_at - interval '59 minutes' where id_hash = $1
       returning customer_id, credential`,
      [createHash('sha256').update(id).digest()],
    );
    const [row] = rows;
    const holder = { customerId: Number(row?.customer_id), credential: row?.credential ?? '' };
    expect(await sessions.isLive(holder, id)).toBe(true);
    await service.pool.query(`update mcp_sessions set used_at = used_at - interval '1 minute'`);
    expect(await sessions.isLive(holder, id)).toBe(false);
    await stream.body?.cancel();
  });

  it('above 20 of a credential, the one used longest ago ends', async () => {
    const { key } = (await account.api.post<{ key: string }>('/api-keys', { name: 'Many' })).body.data;
    const ids: string[] = [];
    for (let n = 0; n < 21; n += 1) ids.push(await begin(credential(key)));
    const statuses = [];
    for (const id of [ids[0], ids[1], ids[20]]) {
      statuses.push((await post(ping, { 'Mcp-Session-Id': id ?? '', ...credential(key) })).status);
    }
    expect(statuses).toEqual([404, 200, 200]);
  });

  it('a stream of a session ends with it', async () => {
    const id = await begin();
    const stream = await fetch(urlOf(), {
      headers: { ...credential(), Accept: 'text/event-stream', 'Mcp-Session-Id': id },
    });
    expect([stream.status, stream.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const second = await fetch(urlOf(), {
      headers: { ...credential(), Accept: 'text/event-stream', 'Mcp-Session-Id': id },
    });
    expect(second.status).toBe(200);
    // The earlier stream has ended, so it can be read to its end.
    expect(await stream.text()).toContain(': connected');
    await second.body?.cancel();
  });
});

describe('the bounds of time', () => {
  const CONNECTION_MS = 1_000;
  let node: AnotherNode;
  beforeAll(async () => {
    const settings = { MCP_CALL_MS: '1', MCP_CONNECTION_MS: String(CONNECTION_MS) };
    node = await startAnotherNode(service, { settings });
  });
  afterAll(() => node.service.stop());
  const at = (path: string): URL => new URL(path, node.baseUrl);

  it('a call that takes longer is SERVICE_UNAVAILABLE, and may have completed', async () => {
    const client = new Client(info);
    await client.connect(
      new StreamableHTTPClientTransport(at('/mcp'), { requestInit: { headers: credential() } }),
    );
    const late = await client.callTool({
      name: 'save_advertiser',
      arguments: { name: 'Late', idempotencyKey: 'a-call-that-takes-longer' },
    });
    expect(late).toMatchObject({
      isError: true,
      structuredContent: {
        code: 'SERVICE_UNAVAILABLE',
        recovery: 'transient',
        message: expect.stringContaining('may have completed'),
      },
    });
    await client.close();
  });

  it('a connection ends after it, and its session lives on', async () => {
    const id = await begin();
    const headers = { ...credential(), 'Mcp-Session-Id': id };
    const startedAt = performance.now();
    const stream = await fetch(at('/mcp'), { headers: { ...headers, Accept: 'text/event-stream' } });
    expect(stream.status).toBe(200);
    // The service has ended it.
    expect(await stream.text()).toContain(': connected');
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(CONNECTION_MS);
    expect((await post(ping, { 'Mcp-Session-Id': id })).status).toBe(200);
  });
});

describe('who may connect', () => {
  it('needs a credential, and a cookie is none', async () => {
    const answer = await post(ping, { Authorization: '' });
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('/.well-known/oauth-protected-resource/mcp'),
    ]);
  });

  it('a foreign Host or Origin is 403', async () => {
    expect((await post(initialize, { Origin: 'https://evil.example' })).status).toBe(403);
    expect([await statusFor('evil.example'), await statusFor(new URL(service.baseUrl).host)]).toEqual([
      403, 200,
    ]);
    expect((await post(initialize, { Origin: new URL(service.baseUrl).origin })).status).toBe(200);
    await account.api.post('/browser-origins', { origin: 'https://agent.example.com' });
    expect((await post(initialize, { Origin: 'https://agent.example.com' })).status).toBe(200);
  });

  it('a body that is not JSON is a parse error', async () => {
    const broken = await post('{"jsonrpc":');
    expect([broken.status, parsed(broken)]).toEqual([400, rpcError(-32_700, expect.any(String))]);
  });

  it('a batch is refused: it would be counted as one call', async () => {
    const id = await begin();
    const batch = await post([ping, { ...ping, id: 3 }], { 'Mcp-Session-Id': id });
    expect([batch.status, parsed(batch)]).toEqual([
      400,
      rpcError(-32_600, expect.stringContaining('batches')),
    ]);
  });

  it('a POST is counted, a stream is not', async () => {
    const id = await begin();
    const left = async () =>
      Number((await account.api.get('/advertisers')).headers.get('ratelimit-remaining'));
    const before = await left();
    await post(ping, { 'Mcp-Session-Id': id });
    const stream = await fetch(urlOf(), {
      headers: { ...credential(), Accept: 'text/event-stream', 'Mcp-Session-Id': id },
    });
    await stream.body?.cancel();
    expect(stream.headers.get('ratelimit-limit')).toBeNull();
    expect(await left()).toBe(before - 2);
  });
});
