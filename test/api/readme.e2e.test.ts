import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { shippedProgram } from '../support/bundles.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { startSandboxAgent, type SandboxAgent } from '../support/sandbox-agent.ts';

/** Runs the commands of README.md in order against a running service and sandbox agent. */

/** Commands that start programs or run all tests: this test runs them separately. */
const STARTING = [
  'npm ci && npm start',
  'npm ci && npm test',
  'OUTBOUND_ALLOW_LOOPBACK=true npm start',
  'npm run -s sandbox-agent',
];

/** Keeps the status line of every answer, and does what curl does. */
const CURL = `#!/bin/bash
exec "$REAL_CURL" -D "$STATUSES/$(date +%s%N)" "$@"
`;

let service: RunningService;
let agent: SandboxAgent;
let folder: string;
/** A wait in the README may never come to its end. */
let started: ChildProcess | undefined;
beforeAll(async () => {
  [service, agent, folder] = await Promise.all([
    startRunningService({ OUTBOUND_ALLOW_LOOPBACK: 'true', AGENT_CHECK_MS: '2000' }),
    startSandboxAgent(),
    mkdtemp(join(tmpdir(), 'readme-')),
  ]);
});
afterAll(async () => {
  started?.kill('SIGKILL');
  await Promise.all([service.stop(), agent.stop(), rm(folder, { recursive: true })]);
});

const blocksOf = (markdown: string): readonly string[] =>
  [...markdown.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block.trim());

it('every command of the README works, in its order', async () => {
  const blocks = blocksOf(await readFile('README.md', 'utf8'));
  expect(blocks.filter((block) => STARTING.includes(block))).toEqual(expect.arrayContaining(STARTING));
  const script = blocks
    .filter((block) => !STARTING.includes(block))
    .join('\n')
    .replaceAll('http://127.0.0.1:3000', service.baseUrl)
    .replaceAll('http://127.0.0.1:4300', new URL(agent.url).origin)
    .replaceAll(
      'npm run -s exchange --',
      `"${process.execPath}" --no-warnings "${shippedProgram('exchange.js')}"`,
    );
  expect(script).not.toMatch(/npm run|127\.0\.0\.1:(?:3000|4300)\b/);
  const statuses = join(folder, 'statuses');
  await writeFile(join(folder, 'curl'), CURL);
  await chmod(join(folder, 'curl'), 0o755);
  const child = spawn('bash', ['-eu', '-c', `mkdir "${statuses}"\n${script}`], {
    env: {
      ...service.stores,
      PATH: `${folder}:${process.env['PATH']}`,
      REAL_CURL: (await which('curl')).trim(),
      STATUSES: statuses,
      DATA_DIR: service.dataDir,
      SECRET_KEYS: `test:${'A'.repeat(43)}`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started = child;
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  expect({ status: child.exitCode, stderr }).toEqual({ status: 0, stderr: expect.any(String) });
  const heads = await Promise.all(
    (await readdir(statuses)).map((name) => readFile(join(statuses, name), 'utf8')),
  );
  // Those of the service: the sandbox agent is asked for what it does not have yet, too.
  const answered = heads
    .filter((head) => /^x-request-id:/im.test(head))
    .map((head) => Number(head.split(' ')[1]));
  expect(answered.length).toBeGreaterThan(30);
  // One of them shows an error.
  expect(answered.filter((status) => status >= 300)).toEqual([400]);
  expect(stdout).toContain('primaryCurrency must be three uppercase letters');
  // The agent's data as README describes it: with the audience, without it, with it again, then with its new member.
  expect(stdout).toMatch(/"status":"COMPLETED"[^]*"status":"DISABLED"/);
  const members = [...stdout.matchAll(/\[\{"external_id":"(crm-\d)"/g)].map(([, id]) => id);
  expect(members).toEqual(['crm-1', 'crm-2']);
  expect(stdout).toMatch(/advertisers: rebuilt/);
}, 240_000);

const which = async (program: string): Promise<string> => {
  const child = spawn('which', [program], { stdio: ['ignore', 'pipe', 'inherit'] });
  return text(child.stdout);
};
