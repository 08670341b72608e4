import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createLog } from '../../app/log.ts';
import { startAnotherNode, type AnotherNode } from '../support/another-node.ts';
import { conformanceServer } from '../support/conformance-server.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** Sessions over two processes of the service; an answer to a question comes with another request, to either. */

let service: RunningService;
let account: TestAccount;
let second: AnotherNode;
beforeAll(async () => {
  service = await startRunningService({}, createLog('silent'), { mcpServer: conformanceServer });
  account = await service.openAccount();
  second = await startAnotherNode(service, { mcpServer: conformanceServer });
});
afterAll(async () => {
  await second.service.stop();
  await service.stop();
});

/** @param baseUrlOf which process gets the request */
const connect = async (baseUrlOf: (request: number) => string): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities: { elicitation: {} } });
  let requests = 0;
  const transport = new StreamableHTTPClientTransport(new URL(`${service.baseUrl}/mcp`), {
    requestInit: { headers: { Authorization: `Bearer ${account.apiKey}` } },
    fetch: (url, init) => fetch(`${baseUrlOf((requests += 1))}${new URL(url).pathname}`, init),
  });
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({
    action: 'accept',
    content: { username: params.message, email: 'ada@example.com' },
  }));
  await client.connect(transport);
  return client;
};
const ask = (client: Client, message: string) =>
  client.callTool({ name: 'test_elicitation', arguments: { message } });

it('one session is served by two processes in turn, and answers reach the calls that asked', async () => {
  const client = await connect((request) => (request % 2 === 0 ? service.baseUrl : second.baseUrl));
  for (let n = 0; n < 6; n += 1) {
    const { content } = await client.callTool({ name: 'test_simple_text' });
    expect(content).toMatchObject([{ text: 'This is a simple text response for testing.' }]);
  }
  const names = ['One', 'Two', 'Three'];
  const answers = await Promise.all(names.map((name) => ask(client, name)));
  for (const [at, { content }] of answers.entries()) {
    expect(content).toMatchObject([{ text: expect.stringContaining(`"username":"${names[at]}"`) }]);
  }
  expect((await service.pool.query('select from mcp_questions')).rowCount).toBe(0);
  await client.close();
});

it('a restart ends the sessions that began at this process, and no others', async () => {
  const own = await connect(() => second.baseUrl);
  const other = await connect(() => service.baseUrl);
  await second.service.stop();
  second = await startAnotherNode(service, { mcpServer: conformanceServer, port: second.port });
  await expect(ask(own, 'Again')).rejects.toThrow(/Session not found/);
  expect((await ask(other, 'Still')).isError).not.toBe(true);
  await Promise.all([own.close(), other.close()]);
});
