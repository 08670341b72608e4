import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hasNewNode, inspector } from '../support/mcp-conformance.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';

/** The command line of MCP Inspector, against the shipped tools. */

let service: RunningService;
let apiKey: string;
beforeAll(async () => {
  service = await startRunningService();
  ({ apiKey } = await service.openAccount('Inspected'));
});
afterAll(() => service.stop());

const inspect = async (...words: readonly string[]): Promise<Readonly<Record<string, unknown>>> => {
  const [program, all] = inspector([
    `${service.baseUrl}/mcp/v3`,
    '--transport http',
    `--header 'Authorization: Bearer ${apiKey}'`,
    ...words,
  ]);
  const child = spawn(program, all, { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  expect({ status: child.exitCode, stderr }).toEqual({ status: 0, stderr: expect.any(String) });
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
};

(hasNewNode ? describe : describe.skip)('MCP Inspector', () => {
  it('lists the tools and calls one', async () => {
    const { tools } = (await inspect('--method tools/list')) as {
      tools: readonly { readonly name: string }[];
    };
    expect(tools.map(({ name }) => name)).toContain('request_proposals');
    expect(await inspect('--method tools/call', '--tool-name get_status')).toMatchObject({
      structuredContent: { account: { company: 'Inspected' } },
    });
  }, 180_000);
});
