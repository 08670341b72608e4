import { createHash, timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createA2AAdapter } from '@adcp/sdk/server';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express, { type RequestHandler } from 'express';
import { z } from 'zod';
import { listenErrorOf } from '../../shared/http/listen-error.ts';
import { check, sentenceOf } from '../../shared/http/problems.ts';
import { adcpServers, type SeenCall } from './adcp-server.ts';
import { Behaviour } from './behaviour.ts';
import { createHoldings } from './holdings.ts';
import { createMediaBuys } from './media-buys.ts';
import { createTasks } from './agent-tasks.ts';

export interface SandboxAgentOptions {
  readonly port: number;
  readonly token: string;
}

const CALLS_MAX = 10_000;
const BODY_BYTES_MAX = 5_000_000;
const WhoseMembers = z.object({ account: z.string(), audience_id: z.string() });
const HOST = '127.0.0.1';

/**
 * An AdCP agent for experiments: stores in memory, executes each idempotency key once, listens on loopback
 * only. Without a token: `GET /` shows the data, `GET /members` an audience's members, `PUT /behaviour`
 * selects a fault.
 * @returns its address, without a path
 * @throws ListenError
 */
export const startSandboxAgent = async ({ port, token }: SandboxAgentOptions): Promise<string> => {
  const behaviour: Behaviour = { mode: 'works', delayMs: 1_000 };
  const holdings = createHoldings();
  const calls: SeenCall[] = [];
  const makeServer = adcpServers({
    holdings,
    tasks: createTasks(),
    mediaBuys: createMediaBuys(),
    behaviour,
    onCall: (call) => {
      calls.push(call);
      if (calls.length > CALLS_MAX) calls.shift();
    },
  });

  const app = express();
  app.use(express.json({ limit: BODY_BYTES_MAX }));
  app.get('/', (_request, response) => void response.json({ behaviour, accounts: holdings.shown(), calls }));
  app.get('/members', (request, response) => {
    const { data } = WhoseMembers.safeParse(request.query);
    const members = data && holdings.members(data.account, data.audience_id);
    response.status(members === undefined ? 404 : 200).json(members ?? null);
  });
  app.put('/behaviour', (request, response) => {
    const changed = check(Behaviour.partial(), request.body);
    if (changed.problems === undefined) response.json(Object.assign(behaviour, changed.value));
    else response.status(400).json({ error: sentenceOf(changed.problems[0], 'The body') });
  });
  const mayCall = bearerOf(token);
  app.post('/mcp', mayCall, async (request, response) => {
    const server = makeServer();
    // Each request needs its own server, which ends with the answer: nothing is pushed.
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    response.on('close', () => void server.close().catch(() => undefined));
    // The types of the two packages disagree about optional members.
    await server.connect(transport as never);
    await transport.handleRequest(request, response, request.body);
  });

  const listening = await new Promise<ReturnType<typeof app.listen>>((resolve, reject) => {
    const server = app.listen(port, HOST, (error?: Error) =>
      error === undefined ? resolve(server) : reject(listenErrorOf(error, HOST, port, 'SANDBOX_AGENT_PORT')),
    );
  });
  const url = `http://${HOST}:${(listening.address() as AddressInfo).port}`;
  const card = {
    name: 'Sandbox agent',
    description: 'Keeps received data in memory',
    version: '1.0.0',
    url: `${url}/a2a`,
    securitySchemes: { bearer: { type: 'http' as const, scheme: 'bearer' } },
  };
  const a2a = createA2AAdapter({ server: makeServer(), agentCard: card });
  app.use('/a2a/.well-known/agent-card.json', a2a.agentCardHandler);
  app.use('/a2a', mayCall, a2a.jsonRpcHandler);
  return url;
};

const bearerOf = (token: string): RequestHandler => {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const wanted = digest(`Bearer ${token}`);
  return (request, response, next) => {
    if (timingSafeEqual(digest(request.get('authorization') ?? ''), wanted)) next();
    else
      response
        .status(401)
        .set('WWW-Authenticate', 'Bearer')
        .json({ error: "Send the agent's bearer token." });
  };
};
