import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { packageDirectory } from '../../app/version.ts';
import { shippedProgram } from '../support/bundles.ts';
import {
  comparisonOf,
  isStarting,
  scriptOf,
  settingsOf,
  stepsOf,
  withAnswers,
  type Step,
} from '../support/runnable-page.ts';
import { freePort } from '../support/free-port.ts';
import { runSteps } from '../support/run-steps.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { startSandboxAgent, type SandboxAgent } from '../support/sandbox-agent.ts';

/**
 * Runs the commands of the pages unchanged, against a running service and the sandbox agent, and compares their
 * output with the answers in the pages. `PAGES_WRITE=true` writes the answers into the pages instead.
 */

/** Stores the status line of every answer, and otherwise does what curl does. */
const CURL = `#!/bin/bash
exec "$REAL_CURL" -D "$STATUSES/$(date +%s%N)" "$@"
`;

const releases: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const release of releases.splice(0).toReversed()) await release();
});

const read = (path: string): Promise<string> => readFile(path, 'utf8');

/** Runs the commands in one shell. Returns each step's output, and the status of every answer of the service. */
const run = async (
  steps: readonly Step[],
  service: RunningService,
  agent: SandboxAgent,
): Promise<{ readonly outputs: readonly string[]; readonly statuses: readonly number[] }> => {
  const folder = await mkdtemp(join(tmpdir(), 'pages-'));
  releases.push(() => rm(folder, { recursive: true }));
  // As in the folder of the program.
  await symlink(join(packageDirectory, 'node_modules'), join(folder, 'node_modules'));
  const receiver = `127.0.0.1:${await freePort()}`;
  const edit = (script: string): string =>
    script
      // In one pass: a port of this run may begin with the digits of another of these.
      .replaceAll(/http:\/\/127\.0\.0\.1:(3000|4300)\b/g, (_, port) =>
        port === '3000' ? service.baseUrl : new URL(agent.url).origin,
      )
      .replaceAll(/127\.0\.0\.1:4400\b/g, receiver)
      .replaceAll("4400, '127.0.0.1'", `${new URL(`http://${receiver}`).port}, '127.0.0.1'`)
      .replaceAll('.data/', `${service.dataDir}/`)
      .replaceAll(/npx exchange/g, `"${process.execPath}" --no-warnings "${shippedProgram('exchange.js')}"`);
  expect(edit(scriptOf(steps))).not.toMatch(/npm |npx |127\.0\.0\.1:(?:3000|4300|4400)\b/);
  await mkdir(join(folder, 'statuses'));
  await writeFile(join(folder, 'curl'), CURL);
  await chmod(join(folder, 'curl'), 0o755);
  const which = spawn('which', ['curl'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new AbortController();
  releases.push(async () => ended.abort());
  const outputs = await runSteps(steps, {
    folder,
    environment: {
      ...service.stores,
      PATH: `${folder}:${process.env['PATH']}`,
      REAL_CURL: (await text(which.stdout)).trim(),
      STATUSES: join(folder, 'statuses'),
      PORT: String(service.port),
      DATA_DIR: service.dataDir,
      SECRET_KEYS: `test:${'A'.repeat(43)}`,
    },
    edit,
    signal: ended.signal,
  });
  const heads = await Promise.all(
    (await readdir(join(folder, 'statuses'))).map((name) => read(join(folder, 'statuses', name))),
  );
  return {
    outputs,
    // Answers of the service only: a page may ask the sandbox agent for data that has not arrived yet.
    statuses: heads.filter((head) => /^x-request-id:/im.test(head)).map((head) => Number(head.split(' ')[1])),
  };
};

/** They begin with an empty machine, so nothing of another page may help them. */
const aloneGuides: readonly string[] = ['sign-in', 'oauth', 'webhooks', 'realtime', 'connect-an-agent'].map(
  (name) => `docs/guides/${name}.md`,
);

const guidesWithCommands = async (): Promise<readonly string[]> => {
  const paths = (await readdir('docs/guides')).map((name) => `docs/guides/${name}`).sort();
  const pages = await Promise.all(paths.map(async (path) => [path, stepsOf(await read(path))] as const));
  return pages.flatMap(([path, steps]) => (steps.length === 0 || aloneGuides.includes(path) ? [] : [path]));
};

describe('every command succeeds and prints the shown answer', () => {
  it.each<readonly [string, () => Promise<readonly string[]>]>([
    ['README.md', async () => ['README.md']],
    [
      'the quick start, and the guides after it',
      async () => ['docs/quick-start.md', ...(await guidesWithCommands())],
    ],
    ...aloneGuides.map((path) => [path, async () => [path]] as const),
  ])(
    '%s',
    async (_name, pathsOf) => {
      const paths = await pathsOf();
      // Its only calls are those of the official client.
      const isOfAgent = paths.includes('docs/guides/connect-an-agent.md');
      const pages = await Promise.all(paths.map(async (path) => ({ path, page: await read(path) })));
      const settings = Object.assign({}, ...pages.map(({ page }) => settingsOf(page))) as Record<
        string,
        string
      >;
      const agent = await startSandboxAgent();
      releases.push(() => agent.stop());
      const service = await startRunningService({ AGENT_CHECK_MS: '2000', ...settings });
      releases.push(() => service.stop());
      const steps = pages.flatMap(({ page }) => stepsOf(page)).filter((step) => !isStarting(step));
      const { outputs, statuses } = await run(steps, service, agent);
      const answered = steps.map((step, index) => ({ ...step, output: outputs[index] ?? '' }));
      if (process.env['PAGES_WRITE'] === 'true') {
        const answers = new Map(answered.map(({ command, output }) => [command, output]));
        for (const { path, page } of pages) await writeFile(path, withAnswers(page, answers));
      } else {
        const compared = answered.flatMap(({ command, shown, output }) =>
          shown === undefined ? [] : [{ command, ...comparisonOf(shown, output) }],
        );
        expect(compared.length).toBeGreaterThan(isOfAgent ? 0 : 1);
        expect(compared.map(({ command, actual }) => ({ command, answer: actual }))).toEqual(
          compared.map(({ command, shown }) => ({ command, answer: shown })),
        );
      }
      expect(statuses.length).toBeGreaterThan(isOfAgent ? -1 : 3);
      const errors = answered.filter(({ shown }) => shown?.includes('"error": {'));
      expect(statuses.filter((status) => status >= 400)).toHaveLength(errors.length);
    },
    240_000,
  );
});

it('every npm script that a document names exists', async () => {
  const { scripts } = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(await read('package.json')));
  const paths = ['README.md', ...(await readdir('docs', { recursive: true })).map((name) => `docs/${name}`)];
  const named = await Promise.all(
    paths
      .filter((path) => path.endsWith('.md'))
      .map(async (path) =>
        [...(await read(path)).matchAll(/\bnpm run (?:-s )?([\w:-]+)/g)].map(([, name = '']) => ({
          path,
          name,
        })),
      ),
  );
  expect(named.flat().length).toBeGreaterThan(5);
  expect(named.flat().filter(({ name }) => scripts[name] === undefined)).toEqual([]);
});
