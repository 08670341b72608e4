import { apiOf } from '../../support/api-client.ts';
import { startChildServer } from '../child-server.ts';
import { rawRequest } from '../http-load.ts';
import { alternate, lineOf } from '../measure.ts';
import { openFileService } from '../stage.ts';
import { authorized, rate } from './advertiser-requests.ts';
import type { Scenario } from './scenario.ts';

const CONNECTIONS = 16;
const GOAL = 1.5;
const SECONDS_MIN = 0.25;

const VERSION = '2026-07-28';

const toolCall = (name: string, given: object, headers: Readonly<Record<string, string>>): string => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  };
  const params = { name, arguments: given, _meta: meta };
  const sent = {
    ...headers,
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'Mcp-Protocol-Version': VERSION,
    'Mcp-Method': 'tools/call',
    'Mcp-Name': name,
  };
  return rawRequest(
    'POST',
    '/mcp',
    sent,
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  );
};

/**
 * The tool `get`, by the time that a call takes: against the time of the same read over REST and of a constant tool in
 * the SDK's handler, together. An agent's detail does not come from the cache of answers.
 */
export const toolCalls: Scenario = async (bench) => {
  const own = await bench.shared(openFileService);
  const { port } = own.service;
  const headers = authorized(own);
  const api = apiOf(`http://127.0.0.1:${port}`, headers);
  const agent = { name: 'Bench', url: 'https://agent.example.com/mcp', protocol: 'MCP', accountId: 'bench' };
  const { id } = (await api.post<{ id: string }>('/adcp-agents', agent)).body.data;
  const detail = await api.get<object>(`/adcp-agents/${id}`);
  const answer = { kind: 'adcp_agent', object: detail.body.data };
  const bare = await startChildServer('bare-mcp.js', { MCP_ANSWER: JSON.stringify(answer) });
  bench.atEnd(() => bare.stop());
  const seconds = Math.max(bench.seconds, SECONDS_MIN);
  const called = toolCall('get', { kind: 'adcp_agent', id }, headers);
  const constant = toolCall('get', {}, {});
  const read = rawRequest('GET', `/api/v2/buyer/adcp-agents/${id}`, headers);
  const microseconds = async (target: number, request: string): Promise<number> =>
    1e6 / (await rate(target, CONNECTIONS, seconds, () => request));
  const result = await alternate(
    bench.rounds,
    () => microseconds(port, called),
    async () => (await microseconds(port, read)) + (await microseconds(bare.port, constant)),
  );
  return [
    lineOf({
      name: 'tool `get` over MCP, time of a call',
      unit: 'us',
      ...result,
      baselineName: "REST read + constant tool in the SDK's handler",
      goal: GOAL,
      atMost: true,
    }),
  ];
};
