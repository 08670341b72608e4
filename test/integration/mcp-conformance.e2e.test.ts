import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLog } from '../../app/log.ts';
import { conformanceServer } from '../support/conformance-server.ts';
import { CONFORMANCE, hasNewNode, newNode } from '../support/mcp-conformance.ts';
import { following } from '../support/program.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';

/** The conformance suite of MCP for servers, over this service's transport. It sends no credential: a proxy does. */

/** Everything else must pass, and these must fail: the service sends no log messages. */
const expectedFailures: Readonly<Record<string, readonly string[]>> = {
  '2025-11-25': ['logging-set-level', 'tools-call-with-logging'],
  '2026-07-28': [],
};

let service: RunningService;
let proxy: Server;
beforeAll(async () => {
  service = await startRunningService({}, createLog('silent'), { mcpServer: conformanceServer });
  const { apiKey } = await service.openAccount();
  proxy = createServer((request, response) => {
    const { method, url: path, headers } = request;
    const options = { host: '127.0.0.1', port: service.port, method, path };
    const sent = httpRequest(
      { ...options, headers: { ...headers, authorization: `Bearer ${apiKey}` } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    sent.on('error', () => response.destroy());
    response.on('close', () => sent.destroy());
    request.pipe(sent);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
});
afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await service.stop();
});

(hasNewNode ? describe : describe.skip)('the transport', () => {
  it.each(Object.entries(expectedFailures))(
    'conforms to MCP %s',
    async (version, failures) => {
      const file = join(service.dataDir, `${version}.yaml`);
      await writeFile(file, JSON.stringify({ server: failures }));
      const { port } = proxy.address() as AddressInfo;
      const [program, words] = newNode([
        CONFORMANCE,
        'server',
        `--url=http://localhost:${port}/mcp`,
        `--requirements=${version}`,
        `--expected-failures=${file}`,
      ]);
      const running = following(spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'] }));
      const status = await running.ended;
      if (status !== 0) console.log(running.output());
      expect(status).toBe(0);
    },
    180_000,
  );
});
