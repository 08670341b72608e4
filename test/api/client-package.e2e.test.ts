import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { packageDirectory } from '../../app/version.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { startSandboxAgent, type SandboxAgent } from '../support/sandbox-agent.ts';

/** The client as a user gets it: packed, installed in an empty folder, compiled there with TypeScript 5 and 7. */

const INSTALL_MS_MAX = 120_000;

let folder: string;
let packed: string;
let installed: string;
let service: RunningService;
let agent: SandboxAgent;

const run = async (
  cwd: string,
  command: string,
  parameters: readonly string[],
  environment: Readonly<Record<string, string>> = {},
) => {
  const child = spawn(command, parameters, {
    cwd,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { status: child.exitCode, stdout, stderr };
};

const succeed = async (...given: Parameters<typeof run>): Promise<string> => {
  const { status, stdout, stderr } = await run(...given);
  expect({ given: given.slice(1, 3), status, said: status === 0 ? '' : stdout + stderr }).toEqual({
    given: given.slice(1, 3),
    status: 0,
    said: '',
  });
  return stdout;
};

const QUIET = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'client-'));
  [packed, installed] = [join(folder, 'client'), join(folder, 'empty')];
  const isOwn = (path: string): boolean => !/\/client\/(?:node_modules|dist)(?:\/|$)/.test(path);
  await cp(join(packageDirectory, 'client'), packed, { recursive: true, filter: isOwn });
  await mkdir(installed);
  await writeFile(join(installed, 'package.json'), '{"type":"module","private":true}');
  [service, agent] = await Promise.all([
    startRunningService({ OUTBOUND_ALLOW_LOOPBACK: 'true' }),
    startSandboxAgent(),
    succeed(packed, 'npm', ['ci', ...QUIET])
      .then(() => succeed(packed, 'npm', ['pack', '--silent', '--pack-destination', folder]))
      .then((name) =>
        succeed(installed, 'npm', ['install', ...QUIET, join(folder, name.trim().split('\n').at(-1) ?? '')]),
      ),
  ]);
}, INSTALL_MS_MAX);
afterAll(async () => {
  await Promise.all([service.stop(), agent.stop()]);
  await rm(folder, { recursive: true });
});

/** Compiles every program of the folder, and checks the declarations of the package with them. */
const compile = (compiler: string, parameters: readonly string[]): Promise<string> =>
  succeed(installed, process.execPath, [
    compiler,
    ...'--strict --target es2022 --module nodenext --lib es2022,dom,dom.iterable'.split(' '),
    ...'--skipLibCheck false --exactOptionalPropertyTypes'.split(' '),
    ...parameters,
  ]);

it('the package has no runtime dependency but openapi-fetch, and contains what it declares', async () => {
  const names = (await readdir(join(installed, 'node_modules'))).filter((name) => !name.startsWith('.'));
  expect(names.sort()).toEqual(['buyer-exchange-client', 'openapi-fetch', 'openapi-typescript-helpers']);
  const files = await readdir(join(installed, 'node_modules/buyer-exchange-client'), { recursive: true });
  expect(files).toEqual(
    expect.arrayContaining(['README.md', 'package.json', 'dist/index.js', 'dist/index.d.ts']),
  );
  expect(files.filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))).toEqual([]);
});

it('drives the end-to-end order, compiled with TypeScript 5 and 7', async () => {
  const program = await readFile('test/client/end-to-end.ts', 'utf8');
  await writeFile(
    join(installed, 'end-to-end.ts'),
    program.replace("'../../client/src/index.ts'", "'buyer-exchange-client'"),
  );
  const versions = [packed, packageDirectory].map((root) => join(root, 'node_modules/typescript'));
  const majors = versions.map(
    async (path) => JSON.parse(await readFile(join(path, 'package.json'), 'utf8')).version[0],
  );
  expect(await Promise.all(majors)).toEqual(['5', '7']);
  await Promise.all([
    compile(join(versions[0] ?? '', 'bin/tsc'), ['end-to-end.ts', '--outDir', 'by-5']),
    compile(join(versions[1] ?? '', 'bin/tsc'), ['end-to-end.ts', '--outDir', 'by-7']),
  ]);
  const emitted = ['by-5', 'by-7'].map((name) => readFile(join(installed, name, 'end-to-end.js'), 'utf8'));
  const [by5, by7] = await Promise.all(emitted);
  expect([by5?.includes('buyer-exchange-client'), by7?.includes('buyer-exchange-client')]).toEqual([
    true,
    true,
  ]);
  const given = [join('by-7', 'end-to-end.js'), service.baseUrl, agent.url, agent.token];
  const said = await succeed(installed, process.execPath, given);
  expect(said.trim()).toBe(
    'sign-up, API key, advertiser, event source, conversions, audience, agent, syndication, campaign, ' +
      'upload and assets, creative, submit, detail, duplicate, sessions, engine, audit log, an error',
  );
});

/** All blocks of a language, as one program. */
const programOf = async (page: string, language: string): Promise<string> => {
  const blocks = [...(await readFile(page, 'utf8')).matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  const texts = blocks.flatMap(([, named, block = '']) => (named === language ? [block] : []));
  expect(texts.length).toBeGreaterThan(0);
  return texts.join('\n');
};

/** For Node.js: its own types, without those of browsers. */
const compileForNode = (compiler: string, files: readonly string[], outDir: string): Promise<string> =>
  succeed(installed, process.execPath, [
    join(compiler, 'node_modules/typescript/bin/tsc'),
    ...'--strict --target es2022 --module nodenext --lib es2022 --types node'.split(' '),
    ...files,
    '--outDir',
    outDir,
  ]);

describe('programs of the documents, by a new account of each', () => {
  const environmentOf = async (): Promise<Readonly<Record<string, string>>> => {
    const { apiKey } = await service.openAccount();
    return { EXCHANGE_URL: service.baseUrl, EXCHANGE_KEY: apiKey, WEBHOOK_SECRET: SECRET };
  };

  beforeAll(async () => {
    await symlink(join(packageDirectory, 'node_modules/@types'), join(installed, 'node_modules/@types'));
    const first = await programOf('client/README.md', 'ts');
    expect(first.split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(8);
    await writeFile(join(installed, 'first.ts'), first);
    await writeFile(join(installed, 'recipes.ts'), await programOf('docs/guides/client.md', 'ts'));
    await writeFile(join(installed, 'received.ts'), RECEIVED);
    const files = ['first.ts', 'received.ts'];
    await Promise.all([
      compileForNode(packed, files, 'by-5'),
      compileForNode(packageDirectory, files, 'by-7'),
    ]);
  });

  it('the first program, of eight lines', async () => {
    const said = await succeed(installed, process.execPath, ['by-7/first.js'], await environmentOf());
    expect(said).toMatch(/^cmp_\w+ Winter sale\n$/);
  });

  it('the TypeScript guide; what it verifies was sent by the service', async () => {
    const environment = await environmentOf();
    const { headers, body } = await receivedWebhook();
    const webhook = { WEBHOOK_HEADERS: JSON.stringify(headers), WEBHOOK_BODY: body.toString() };
    const said = await succeed(installed, process.execPath, ['by-5/received.js'], {
      ...environment,
      ...webhook,
    });
    expect(said.trim().split('\n')).toEqual([
      'campaign Winter sale draft',
      '400 VALIDATION_ERROR name',
      'advertiser 1 Acme Shoes'.replace('1', said.match(/advertiser (\d+)/)?.[1] ?? ''),
      'campaigns 1',
      'sent 42 of 42',
      'stored 42',
      'accepted 1',
      'accepted 1',
      expect.stringMatching(/^advertiser\.created \d+ true$/),
      'webhook advertiser.created',
      '204 401',
    ]);
  });

  it('the Python recipes; what they verify was sent by the service', async () => {
    const environment = await environmentOf();
    const { headers, body } = await receivedWebhook();
    const program = `${await programOf('docs/guides/recipes.md', 'python')}
headers, body, secret = json.loads(os.environ['WEBHOOK_HEADERS']), os.environ['WEBHOOK_BODY'].encode(), os.environ['WEBHOOK_SECRET']
print(verify(body, headers, secret), verify(body + b' ', headers, secret), verify(body, headers, 'another secret, 16+'))
print(verify(body, headers, secret, tolerance=-1))
`;
    await writeFile(join(folder, 'recipes.py'), program);
    const webhook = { WEBHOOK_HEADERS: JSON.stringify(headers), WEBHOOK_BODY: body.toString() };
    const said = await succeed(folder, 'python3', ['recipes.py'], { ...environment, ...webhook });
    expect(said.trim().split('\n')).toEqual([
      'campaign Python sale draft',
      'advertisers True',
      'stored 42',
      'accepted 1',
      'accepted 1',
      'advertiser.created',
      'True False False',
      'False',
    ]);
  });
});

const SECRET = `whsec_${Buffer.from('a secret of the recipes').toString('base64')}`;

/** Runs after the programs of the guide, which it imports. */
const RECEIVED = `import { receive } from './recipes.js';
const sent = (body: string): Promise<Response> => {
  const headers = JSON.parse(process.env.WEBHOOK_HEADERS ?? '') as Record<string, string>;
  return receive(new Request('http://127.0.0.1/', { method: 'POST', headers, body }));
};
const body = process.env.WEBHOOK_BODY ?? '';
console.log((await sent(body)).status, (await sent(body + ' ')).status);
`;

/** A webhook as the service delivers it. */
const receivedWebhook = async () => {
  const receiver = await startWebhookReceiver();
  const { api } = await service.openAccount();
  await api.post('/webhook-subscriptions', {
    url: receiver.url,
    eventTypes: ['advertiser.*'],
    secret: SECRET,
  });
  await api.post('/advertisers', { name: 'Acme' });
  await until(async () => receiver.received.length > 0, 30_000);
  await receiver.stop();
  const [{ headers, body } = { headers: {}, body: Buffer.of() }] = receiver.received;
  const named = Object.entries(headers).filter(([name]) => name.startsWith('webhook-'));
  return { headers: Object.fromEntries(named), body };
};
