import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createLog } from '../../app/log.ts';
import { conformanceServer } from '../support/conformance-server.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** Questions to the client of a session: its answer comes with another request. */

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService({}, createLog('silent'), { mcpServer: conformanceServer });
  account = await service.openAccount();
});
afterAll(() => service.stop());

it('an answer reaches the call that asked', async () => {
  const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities: { elicitation: {} } });
  const asked: string[] = [];
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    asked.push(params.message);
    return { action: 'accept', content: { username: 'Ada', email: 'ada@example.com' } };
  });
  const requestInit = { headers: { Authorization: `Bearer ${account.apiKey}` } };
  const transport = new StreamableHTTPClientTransport(new URL(`${service.baseUrl}/mcp`), { requestInit });
  await client.connect(transport as Parameters<Client['connect']>[0]);
  const call = (message: string) => client.callTool({ name: 'test_elicitation', arguments: { message } });
  const answers = await Promise.all([call('One?'), call('Two?')]);
  expect(asked.sort()).toEqual(['One?', 'Two?']);
  for (const { content } of answers) {
    expect(content).toMatchObject([{ text: expect.stringContaining('"username":"Ada"') }]);
  }
  expect((await service.pool.query('select from mcp_questions')).rowCount).toBe(0);
  await client.close();
});
