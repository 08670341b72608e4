import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createAdcpAgent } from '../../command/workers/syndication/adcp-agent.ts';
import type { AgentAnswer, AgentCall } from '../../command/workers/syndication/agent-call.ts';
import {
  createOutboundFetch,
  createOutboundLines,
  type OutboundFetch,
} from '../../shared/outbound/outbound-fetch.ts';
import { hostileUrls } from '../support/hostile-urls.ts';
import { startSandboxAgent, type SandboxAgent } from '../support/sandbox-agent.ts';

const clock = { now: () => Date.parse('2026-03-01T12:00:00Z') };
const printed = jest.spyOn(console, 'warn').mockReturnValue();
const agentOf = (callMs: number) => {
  const openLine = createOutboundLines({ allowLoopback: true, timeoutMs: callMs, bytesMax: 1_000_000 });
  return createAdcpAgent({ openLine, callMs, clock });
};
/** Allows time for a busy machine. */
const callAgent = agentOf(20_000);
/** For calls that must time out. */
const SHORT_MS = 1_500;
const callAgentShortly = agentOf(SHORT_MS);

const given: Omit<AgentCall, 'agentUrl' | 'idempotencyKey'> = {
  protocol: 'MCP',
  token: undefined,
  task: 'sync_event_sources',
  request: { account: { account_id: 'acct' }, event_sources: [{ event_source_id: 'web' }] },
  signal: new AbortController().signal,
};

describe.each(['MCP', 'A2A'] as const)('an AdCP agent over %s', (protocol) => {
  let agent: SandboxAgent;
  beforeAll(async () => {
    agent = await startSandboxAgent();
  });
  afterEach(() => agent.behave({ mode: 'works', delayMs: 1_000 }));
  afterAll(() => agent.stop());
  const call = (more: Partial<AgentCall> = {}, caller = callAgent): Promise<AgentAnswer> =>
    caller({
      ...given,
      protocol,
      agentUrl: protocol === 'MCP' ? agent.url : agent.a2aUrl,
      token: agent.token,
      idempotencyKey: randomUUID(),
      ...more,
    });

  it('executes a task once for each idempotency key', async () => {
    const idempotencyKey = randomUUID();
    for (let n = 0; n < 2; n++) {
      expect(await call({ idempotencyKey })).toMatchObject({
        outcome: 'completed',
        data: { event_sources: [{ event_source_id: 'web', action: 'created' }] },
      });
    }
    expect(await agent.eventSources('acct')).toEqual(['web']);
    expect((await agent.state()).effects.filter((one) => one === idempotencyKey)).toHaveLength(1);
  });

  it('deletes resources that a request omits', async () => {
    await call();
    const request = { account: { account_id: 'acct' }, delete_missing: true };
    expect(await call({ request })).toMatchObject({ outcome: 'completed' });
    expect(await agent.eventSources('acct')).toEqual([]);
  });

  it('is retried when it is busy, after the time that it names', async () => {
    await agent.behave({ mode: 'busy' });
    expect(await call()).toMatchObject({ outcome: 'retry', afterMs: 1_000 });
  });

  it('is not retried after a final refusal', async () => {
    await agent.behave({ mode: 'rejecting' });
    expect(await call()).toMatchObject({
      outcome: 'refused',
      message: expect.stringContaining('The account is suspended'),
    });
  });

  it('cannot reveal its token by repeating it', async () => {
    const answer = JSON.stringify(
      await call({ request: { ...given.request, event_sources: [{ event_source_id: agent.token }] } }),
    );
    expect(answer).toContain('"event_source_id":"[token]"');
    expect(answer).not.toContain(agent.token);
  });

  it('is not retried with credentials that it rejects', async () => {
    expect(await call({ token: 'wrong' })).toMatchObject({
      outcome: 'refused',
      message: 'The agent does not accept the credentials.',
    });
  });

  it('times out if it does not answer', async () => {
    await agent.behave({ mode: 'silent' });
    const begun = performance.now();
    expect(await call({}, callAgentShortly)).toMatchObject({ outcome: 'retry' });
    expect(performance.now() - begun).toBeLessThan(SHORT_MS + 3_000);
  });

  it('is polled for an accepted task, and executes it once', async () => {
    await agent.behave({ mode: 'submitted', delayMs: 1_000 });
    const idempotencyKey = randomUUID();
    const taken = await call({ idempotencyKey });
    expect(taken).toEqual({ outcome: 'submitted', taskId: expect.stringMatching(/^task_/), taskOf: 'ADCP' });
    // A worker without the task id repeats the call.
    expect(await call({ idempotencyKey })).toEqual(taken);
    if (taken.outcome !== 'submitted') return;
    const after = () => call({ idempotencyKey, submittedTask: taken });
    let answer = await after();
    while (answer.outcome === 'submitted') answer = await after();
    expect(answer).toMatchObject({ data: { event_sources: [{ event_source_id: 'web' }] } });
    expect((await agent.state()).calls.filter((one) => one === idempotencyKey)).toHaveLength(1);
  });

  it('reports why an accepted task failed', async () => {
    await agent.behave({ mode: 'submitted-failing', delayMs: 0 });
    const taken = await call();
    if (taken.outcome !== 'submitted') throw new Error(JSON.stringify(taken));
    expect(await call({ submittedTask: taken })).toMatchObject({
      outcome: 'refused',
      message: 'The review was not passed',
    });
    expect(await call({ submittedTask: { taskId: 'task_unknown', taskOf: 'ADCP' } })).toMatchObject({
      outcome: 'refused',
      message: expect.stringContaining('The task does not exist'),
    });
  });
});

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});
/** @returns its origin */
const serve = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const callOf = (protocol: AgentCall['protocol'], agentUrl: string): AgentCall => ({
  ...given,
  protocol,
  agentUrl,
  token: 'token',
  idempotencyKey: randomUUID(),
});

/** The target of redirects, which counts connections. */
let elsewhere = '';
let reached = 0;
const counting = createServer((_request, response) => response.end()).on('connection', () => (reached += 1));
beforeAll(async () => {
  await new Promise<void>((resolve) => counting.listen(0, '127.0.0.1', resolve));
  elsewhere = `http://127.0.0.1:${(counting.address() as AddressInfo).port}/mcp`;
});
afterAll(() => {
  counting.close();
});

describe('a server that is not an agent', () => {
  it.each<[string, RequestListener]>([
    ['never answers', () => undefined],
    ['closes the connection', (request) => request.socket.destroy()],
    ['answers only headers', (_request, response) => response.writeHead(200).flushHeaders()],
    [
      'sends a byte per second',
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const timer = setInterval(() => response.write(' '), 1_000);
        response.on('close', () => clearInterval(timer));
      },
    ],
    [
      'answers without end',
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const more = (): void => {
          while (!response.destroyed && response.write('x'.repeat(65_536)));
        };
        response.on('drain', more);
        more();
      },
    ],
    ...[302, 307].map((code): [string, RequestListener] => [
      `redirects with ${code}`,
      (_request, response) => response.writeHead(code, { location: elsewhere }).end(),
    ]),
    ['answers HTML', (_request, response) => response.setHeader('content-type', 'text/html').end('<p>hi')],
    [
      'answers broken JSON',
      (_request, response) => response.setHeader('content-type', 'application/json').end('{"jsonrpc": '),
    ],
    [
      'answers with invalid gzip',
      (_request, response) => response.setHeader('content-encoding', 'gzip').end(Buffer.alloc(10)),
    ],
    ['answers 500', (_request, response) => response.writeHead(500).end('\u0000secret\u001b[31m')],
    ['answers 429', (_request, response) => response.writeHead(429, { 'retry-after': '2' }).end()],
  ])('%s: the call ends in time, with a safe message', async (_what, listener) => {
    const origin = await serve(listener);
    // A server with a valid agent card, which fails at the call.
    const card = await serve((_request, response) => response.end(JSON.stringify({ url: `${origin}/a2a` })));
    const begun = performance.now();
    const answers = await Promise.all([
      callAgentShortly(callOf('MCP', `${origin}/mcp`)),
      callAgentShortly(callOf('A2A', `${origin}/a2a`)),
      callAgentShortly({ ...callOf('A2A', card), token: undefined }),
    ]);
    expect(performance.now() - begun).toBeLessThan(SHORT_MS + 3_000);
    for (const answer of answers) {
      expect(answer.outcome).not.toBe('completed');
      const message = 'message' in answer ? answer.message : '';
      expect(message.length).toBeGreaterThan(0);
      expect(message.length).toBeLessThanOrEqual(500);
      expect(message).not.toMatch(/\p{Cc}/u);
      expect(message).not.toContain('secret');
    }
    expect(reached).toBe(0);
  });

  it.each(['MCP', 'A2A'] as const)('does not exist over %s: the call is retried', async (protocol) => {
    expect(await callAgentShortly(callOf(protocol, 'http://127.0.0.1:1/mcp'))).toMatchObject({
      outcome: 'retry',
    });
  });
});

describe('an agent whose HTTP server sends Retry-After', () => {
  type Refusal = readonly [status: number, retryAfter: string | undefined, afterMs: number];
  const refusals: readonly Refusal[] = [
    [429, '7', 7_000],
    [503, '7', 7_000],
    [503, 'Sun, 01 Mar 2026 12:01:30 GMT', 90_000],
    [429, 'Sun, 01 Mar 2026 11:00:00 GMT', 0],
    [429, '86400', 3_600_000],
    [503, 'soon', 0],
    [429, undefined, 0],
    [500, '7', 0],
  ];
  /** Answers requests that `isRefused` selects with the status, and others like an agent. */
  const serverThat = (
    isRefused: (text: string) => boolean,
    [status, retryAfter]: Refusal,
  ): Promise<string> => {
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
      let text = '';
      for await (const part of request) text += String(part);
      if (isRefused(text)) {
        return response
          .writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter })
          .end();
      }
      response.setHeader('content-type', 'application/json');
      if (text === '') return response.end(JSON.stringify({ url: `${await serving}/a2a` }));
      const { id, method } = JSON.parse(text) as { id?: number; method: string };
      if (id === undefined) return response.writeHead(202).end();
      const a2a = { kind: 'message', parts: [{ kind: 'data', data: CAPABILITIES }] };
      const names = ['sync_event_sources', 'get_adcp_capabilities', 'tasks/get'];
      const results: Readonly<Record<string, object>> = {
        initialize: {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'a', version: '1' },
        },
        'tools/list': { tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) },
        'tools/call': { content: [], structuredContent: CAPABILITIES },
        'message/send': a2a,
      };
      return response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] }));
    };
    const serving: Promise<string> = serve((request, response) => void answer(request, response));
    return serving;
  };

  describe.each(['MCP', 'A2A'] as const)('over %s', (protocol) => {
    it.each(refusals)('with %i and %s for every request is retried after %i ms', async (...refusal) => {
      const origin = await serverThat(() => true, refusal);
      expect(await callAgent(callOf(protocol, `${origin}/at`))).toMatchObject({
        outcome: 'retry',
        message: `The agent answered with HTTP status ${refusal[0]}.`,
        afterMs: refusal[2],
      });
    });
    it.each(refusals)('with %i and %s for the task only is retried after %i ms', async (...refusal) => {
      const origin = await serverThat((text) => text.includes('sync_event_sources"'), refusal);
      const answer = await callAgent(callOf(protocol, `${origin}/a2a`));
      expect(answer).toMatchObject({ outcome: 'retry', afterMs: refusal[2] });
    });
    it.each(refusals)('with %i and %s for a poll is polled again after %i ms', async (...refusal) => {
      const origin = await serverThat((text) => text.includes('task-1'), refusal);
      const submittedTask = { taskId: 'task-1', taskOf: protocol === 'A2A' ? 'A2A' : 'ADCP' } as const;
      const answer = await callAgent({ ...callOf(protocol, `${origin}/a2a`), submittedTask });
      expect(answer).toMatchObject({ outcome: 'retry', afterMs: refusal[2] });
    });
  });
});

describe('an agent that answers with a running A2A task', () => {
  it('is polled over A2A, and the finished task gives the answer of the call', async () => {
    let polls = 0;
    const task = (id: string, state: string, data?: object) => ({
      kind: 'task',
      id,
      contextId: 'context',
      status: { state },
      ...(data === undefined ? {} : { artifacts: [{ artifactId: '1', parts: [{ kind: 'data', data }] }] }),
    });
    const rows = { event_sources: [{ event_source_id: 'web', action: 'created' }] };
    const answerTo = (method: string, params: { id?: string }, text: string): object => {
      if (text.includes('get_adcp_capabilities')) return { result: task('c', 'completed', CAPABILITIES) };
      if (method === 'message/send') return { result: task('a2a-1', 'working') };
      if (params.id === 'a2a-2') return { result: task('a2a-2', 'rejected') };
      if (params.id !== 'a2a-1') return { error: { code: -32001, message: 'Task not found' } };
      polls += 1;
      return { result: polls === 1 ? task('a2a-1', 'working') : task('a2a-1', 'completed', rows) };
    };
    const origin: string = await serve((request, response) => {
      let text = '';
      request.on('data', (part) => (text += String(part)));
      request.on('end', () => {
        response.setHeader('content-type', 'application/json');
        if (request.method === 'GET') return response.end(JSON.stringify({ url: `${origin}/a2a` }));
        const { id, method, params } = JSON.parse(text) as { id: number; method: string; params: object };
        return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answerTo(method, params, text) }));
      });
    });
    const call = callOf('A2A', `${origin}/a2a`);
    const open = { outcome: 'submitted', taskId: 'a2a-1', taskOf: 'A2A' } as const;
    expect(await callAgent(call)).toEqual(open);
    expect(await callAgent({ ...call, submittedTask: open })).toEqual(open);
    expect(await callAgent({ ...call, submittedTask: open })).toEqual({ outcome: 'completed', data: rows });
    expect(await callAgent({ ...call, submittedTask: { ...open, taskId: 'a2a-2' } })).toMatchObject({
      outcome: 'refused',
      message: "The agent's task ended as rejected.",
    });
    expect(await callAgent({ ...call, submittedTask: { ...open, taskId: 'a2a-3' } })).toMatchObject({
      outcome: 'refused',
      message: 'The agent no longer knows the task.',
    });
  });
});

describe('an agent with several pages of tools', () => {
  const agentOfPages = async (pageOf: (cursor: string | undefined) => object) => {
    let lists = 0;
    const origin = await serve((request, response) => {
      let text = '';
      request.on('data', (part) => (text += String(part)));
      request.on('end', () => {
        if (text === '') return response.writeHead(405).end();
        const { id, method, params } = JSON.parse(text) as {
          id?: number;
          method: string;
          params?: { cursor?: string; name?: string };
        };
        if (id === undefined) return response.writeHead(202).end();
        const server = {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'a', version: '1' },
        };
        if (method === 'tools/list') lists += 1;
        const rows = { event_sources: [{ event_source_id: 'web', action: 'created' }] };
        const data = params?.name === 'get_adcp_capabilities' ? CAPABILITIES : rows;
        const result =
          method === 'initialize'
            ? server
            : method === 'tools/list'
              ? pageOf(params?.cursor)
              : { content: [], structuredContent: data };
        response.setHeader('content-type', 'application/json');
        return response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      });
    });
    return { agentUrl: `${origin}/mcp`, lists: () => lists };
  };
  const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });

  it('can be called for tools on a later page', async () => {
    const { agentUrl } = await agentOfPages((cursor) =>
      cursor === undefined
        ? { tools: [tool('get_products')], nextCursor: '2' }
        : { tools: [tool('sync_event_sources'), tool('get_adcp_capabilities')] },
    );
    expect(await callAgent(callOf('MCP', agentUrl))).toMatchObject({ outcome: 'completed' });
  });

  it('is read up to a limit of pages', async () => {
    for (const next of [() => 'again', (cursor = '0') => String(Number(cursor) + 1)]) {
      const { agentUrl, lists } = await agentOfPages((cursor) => ({ tools: [], nextCursor: next(cursor) }));
      expect(await callAgent(callOf('MCP', agentUrl))).toMatchObject({
        outcome: 'refused',
        message: 'The agent does not offer sync_event_sources.',
      });
      expect(lists()).toBeLessThanOrEqual(20);
    }
  });
});

describe('a call over MCP', () => {
  it('sends each request of a call once, on one connection per call', async () => {
    const asked: string[] = [];
    const open = new Set<unknown>();
    let connections = 0;
    const origin = await serve((request, response) => {
      if (!open.has(request.socket)) connections += 1;
      open.add(request.socket);
      request.socket.once('close', () => open.delete(request.socket));
      let text = '';
      request.on('data', (part) => (text += String(part)));
      request.on('end', () => {
        const { id, method } = JSON.parse(text || '{"method": "GET"}') as { id?: number; method: string };
        asked.push(method);
        if (id === undefined) return response.writeHead(202).end();
        const server = {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'a', version: '1' },
        };
        // Without `get_adcp_capabilities` the client treats it as an AdCP 2 agent and warns.
        const tools = [{ name: 'sync_event_sources', inputSchema: { type: 'object' } }];
        const rows = { event_sources: [{ event_source_id: 'web', action: 'created' }] };
        const result =
          method === 'initialize'
            ? server
            : method === 'tools/list'
              ? { tools }
              : { content: [], structuredContent: rows };
        response.setHeader('content-type', 'application/json');
        return response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      });
    });
    for (let n = 1; n <= 2; n++) {
      expect(await callAgent(callOf('MCP', `${origin}/mcp`))).toMatchObject({ outcome: 'completed' });
      expect(connections).toBe(n);
    }
    const once = ['initialize', 'notifications/initialized', 'tools/list', 'tools/call'];
    expect(asked).toEqual([...once, ...once]);
    while (open.size > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  it('prints nothing, because the text would come from an agent', () => {
    expect(printed).not.toHaveBeenCalled();
  });
});

const CAPABILITIES = {
  adcp: { major_versions: [3], idempotency: { supported: true, replay_ttl_seconds: 86_400 } },
  supported_protocols: ['media_buy'],
};

describe("the address in an agent's card", () => {
  const agentUrl = 'https://agent.example.com/a2a';
  let port = 0;
  const seen: string[] = [];
  beforeAll(async () => {
    const canary = await serve((request, response) => {
      seen.push(request.headers.authorization ?? 'no token');
      response.end('secret');
    });
    port = Number(new URL(canary).port);
  });
  /** Serves the card at the registered address, and everything else at the real one. */
  const answerTo = (cardUrl: string, token?: string): Promise<AgentAnswer> => {
    const guarded = createOutboundFetch({ allowLoopback: false, timeoutMs: 3_000, bytesMax: 10_000 });
    const fetch: OutboundFetch = async (url, init) =>
      String(url).startsWith(agentUrl) ? Response.json({ url: cardUrl }) : guarded(url, init);
    const openLine = () => ({ fetch, close: () => undefined });
    const caller = createAdcpAgent({ openLine, callMs: 20_000, clock });
    return caller({ ...callOf('A2A', agentUrl), token });
  };

  it('is refused in every form that is not on the public internet', async () => {
    let refused = 0;
    for (const form of hostileUrls(port)) {
      const answer = await answerTo(form);
      expect([form, answer]).toEqual([
        form,
        expect.objectContaining({ outcome: 'refused', message: expect.any(String) }),
      ]);
      refused += 1;
    }
    console.log(`${refused} cards refused, ${seen.length} connections to the canary`);
    expect(refused).toBeGreaterThan(190);
    expect(seen).toEqual([]);
  });

  it('of another origin never receives the token', async () => {
    const other = await serve((request, response) => {
      seen.push(request.headers.authorization ?? 'no token');
      response.end('{}');
    });
    const own = await serve((_request, response) =>
      response.end(JSON.stringify({ url: `${other}/a2a`, additionalInterfaces: [] })),
    );
    expect(await callAgent(callOf('A2A', `${own}/a2a`))).toMatchObject({
      outcome: 'refused',
      message: expect.stringContaining('another origin'),
    });
    expect(seen).toEqual([]);
    await callAgent({ ...callOf('A2A', `${own}/a2a`), token: undefined });
    expect(new Set(seen)).toEqual(new Set(['no token']));
  });
});
