import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { startOAuthService, TestClient, type OAuthService } from '../support/oauth-service.ts';
import { CONFORMANCE, hasNewNode, newNode } from '../support/mcp-conformance.ts';
import { following } from '../support/program.ts';

/** The conformance suite of MCP for authorization servers. */

let oauth: OAuthService;
beforeAll(async () => {
  oauth = await startOAuthService();
});
afterAll(() => oauth.service.stop());

(hasNewNode ? describe : describe.skip)('the authorization server', () => {
  it.each(['2025-11-25', '2026-07-28'])(
    'conforms to MCP %s',
    async (version) => {
      const { baseUrl } = oauth.service;
      const account = await oauth.service.openAccount();
      const port = await freePort();
      const client = await TestClient.register(baseUrl, { redirect_uris: ['http://127.0.0.1/callback'] });
      const [program, words] = newNode([
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
