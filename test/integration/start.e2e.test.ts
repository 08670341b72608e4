import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { packageDirectory } from '../../app/version.ts';
import { shippedProgram } from '../support/bundles.ts';
import { generousLimits } from '../support/generous-limits.ts';
import { exchange, exchangeApart, following, startProgram } from '../support/program.ts';
import { itOnTerminal, startOnTerminal } from '../support/pseudo-terminal.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const KEY = /bx_[A-Za-z0-9]{16}_[A-Za-z0-9_-]{43}/;
const SERVING = /serving at (http:\/\/127\.0\.0\.1:\d+)/;

let database: TestDatabase;
let folder: string;
let taken: Server;
let environment: Record<string, string>;
beforeAll(async () => {
  [database, folder] = await Promise.all([createTestDatabase(), mkdtemp(join(tmpdir(), 'exchange-start-'))]);
  taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const DATA_DIR = join(folder, 'data');
  environment = { DATABASE_URL: database.url, PORT: '0', DATA_DIR, ...generousLimits };
});
afterAll(async () => {
  taken.close();
  await Promise.all([database.drop(), rm(folder, { recursive: true, force: true })]);
});
const takenPort = (): string => String((taken.address() as AddressInfo).port);
const changed = (change: (url: URL) => void): string => {
  const url = new URL(database.url);
  change(url);
  return url.href;
};

describe('the program exits with one sentence, given', () => {
  /** Runs the service until it exits. */
  const failed = async (settings: Readonly<Record<string, string>>, file = 'main.js', user?: number) => {
    const child = spawn(process.execPath, ['--no-warnings', shippedProgram(file)], {
      env: { PATH: process.env['PATH'], PORT: '0', DATA_DIR: join(folder, 'none'), ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(user !== undefined && { uid: user, gid: user }),
    });
    const program = following(child);
    return { status: await program.ended, output: program.output() };
  };

  it('a port in use, before it creates a database', async () => {
    expect(await failed({ PORT: takenPort() })).toEqual({
      status: 1,
      output: `Port ${takenPort()} of 127.0.0.1 is in use by another program: stop it, or set PORT to another port.\n`,
    });
    expect(await readdir(folder)).not.toContain('none');
  });

  it('an address that does not belong to this machine', async () => {
    const { status, output } = await failed({ HOST: '192.0.2.1' });
    expect([status, output]).toEqual([1, 'HOST: this machine has no address 192.0.2.1 (EADDRNOTAVAIL).\n']);
  });

  it('a port in use for the sandbox agent', async () => {
    const taking = await failed({ SANDBOX_AGENT_PORT: takenPort() }, 'sandbox-agent.js');
    expect(taking).toEqual({
      status: 1,
      output: `Port ${takenPort()} of 127.0.0.1 is in use by another program: stop it, or set SANDBOX_AGENT_PORT to another port.\n`,
    });
    const wrong = await failed({ SANDBOX_AGENT_PORT: '70000' }, 'sandbox-agent.js');
    expect(wrong).toEqual({ status: 2, output: 'SANDBOX_AGENT_PORT must be a port number, 0 to 65535.\n' });
  });

  it('a data folder that is not writable', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    expect(await failed({ DATA_DIR: join(file, 'data') })).toEqual({
      status: 2,
      output: `Cannot write to ${file}/data (${file} is not a folder): set DATA_DIR to another folder.\n`,
    });
    const locked = await mkdtemp(join(tmpdir(), 'exchange-locked-'));
    await chmod(locked, 0o555);
    // Root can write everywhere.
    const user = process.getuid?.() === 0 ? 65_534 : undefined;
    expect(await failed({ DATA_DIR: join(locked, 'data') }, 'main.js', user)).toEqual({
      status: 2,
      output: `Cannot write to ${locked}/data (permission denied): set DATA_DIR to another folder.\n`,
    });
    await rm(locked, { recursive: true });
  });

  it.each([
    [{ LOG_FORMAT: 'nice' }, 'LOG_FORMAT: must be one of "json", "pretty"'],
    [
      { DATABSE_URL: 'postgres://me:hunter2@host/x' },
      'DATABSE_URL: is not a setting, did you mean DATABASE_URL?',
    ],
  ])('an invalid setting: %j', async (settings: Readonly<Record<string, string>>, problem) =>
    expect(await failed(settings)).toEqual({ status: 2, output: `Wrong configuration.\n  ${problem}\n` }),
  );

  it('a wrong password, or an unknown database', async () => {
    const { host, username } = new URL(database.url);
    const password = changed((url) => (url.password = 'hunter2'));
    const name = new URL(database.url).pathname;
    const refused = {
      status: 2,
      output: `Postgres at ${host}${name} refuses the password of the user "${username}": correct DATABASE_URL.\n`,
    };
    const last = (output: string): string => output.replaceAll(/^\{.*\n/gm, '');
    const service = await failed({ DATABASE_URL: password });
    expect({ ...service, output: last(service.output) }).toEqual(refused);
    expect(service.output).not.toMatch(/hunter2|^ +at /m);
    const { status, stderr } = await exchange(['accounts', 'list'], { DATABASE_URL: password });
    expect({ status, output: stderr }).toEqual(refused);

    const other = await failed({ DATABASE_URL: changed((url) => (url.pathname = '/nowhere')) });
    expect([other.status, last(other.output)]).toEqual([
      2,
      `Postgres at ${host}/nowhere has no database "nowhere": correct DATABASE_URL.\n`,
    ]);
  });

  it("an unreachable Postgres, for an operator's command", async () => {
    const { status, stdout, stderr } = await exchangeApart(['accounts', 'list'], {
      DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/x',
    });
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: '',
      stderr: 'Cannot reach Postgres at 127.0.0.1:1/x: connection refused.\n',
    });
  });
});

describe('without a terminal', () => {
  it('standard output contains only JSON, without the key; LOG_FORMAT=pretty is readable text', async () => {
    const own = await createTestDatabase();
    const start = (settings: Readonly<Record<string, string>>) =>
      spawn(process.execPath, [shippedProgram('main.js')], {
        env: { ...environment, DATABASE_URL: own.url, ...settings },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    const child = start({});
    const output = text(child.stdout);
    await following(child).until(KEY);
    child.kill('SIGTERM');
    const lines = (await output).trim().split('\n');
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ service: 'buyer-exchange' });
    expect(await output).not.toMatch(KEY);

    const pretty = start({ LOG_FORMAT: 'pretty' });
    const program = following(pretty);
    const [, baseUrl = ''] = await program.until(SERVING);
    await fetch(`${baseUrl}/live`);
    await program.until(/^\[\d\d:\d\d:\d\d\] INFO: 200 GET \/live [\d.]+ ms$/m);
    expect(await program.end('SIGTERM')).toBe(0);
    expect(program.output()).not.toMatch(KEY);
    expect(program.output()).not.toMatch(/^\{/m);
    await own.drop();
  }, 60_000);

  it('each log line contains the reason of a wait, without a stack', async () => {
    const program = startProgram({ ...environment, DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/x' });
    await program.until(/"attempt":2,"msg":"Cannot reach Postgres at 127.0.0.1:1\/x: connection refused."/);
    expect(await program.end('SIGTERM')).toBe(0);
    expect(program.output()).not.toMatch(/hunter2|"stack"/);
  });
});

describe('on a terminal', () => {
  itOnTerminal(
    'shows the addresses, the key once, and a line for each request',
    async () => {
      const program = startOnTerminal(shippedProgram('main.js'), environment);
      const [, baseUrl = ''] = await program.until(SERVING);
      const [key] = await program.until(KEY);
      await program.until(/└─ Stop +Ctrl-C/);
      const shown = program.output();
      expect(shown).toContain(`├─ Console    ${baseUrl}/console`);
      expect(shown).toContain(`├─ API        ${baseUrl}/api/v2/buyer`);
      expect(shown).toContain(`├─ Reference  ${baseUrl}/docs`);
      expect(shown).toContain(`├─ Data       ${environment['DATA_DIR']}`);
      expect(shown).toContain(`├─ Key        ${key}`);
      expect(shown.slice(0, shown.indexOf('serving at')).trim().split('\n')).toHaveLength(1);
      expect(shown).not.toContain(new URL(database.url).password);
      const advertisers = `${baseUrl}/api/v2/buyer/advertisers`;
      await fetch(advertisers, { headers: { Authorization: `Bearer ${key}` } });
      await program.until(/200 GET \/api\/v2\/buyer\/advertisers [\d.]+ ms/);
      program.type('\u0003');
      expect(await program.ended).toBe(0);
      expect(program.output()).not.toMatch(/^\{/m);

      const again = startOnTerminal(shippedProgram('main.js'), { ...environment, NO_COLOR: '1' });
      const [, secondUrl = ''] = await again.until(SERVING);
      await fetch(`${secondUrl}/live`);
      await again.until(/INFO: 200 GET \/live/);
      again.type('\u0003');
      expect(await again.ended).toBe(0);
      expect(again.output()).not.toMatch(KEY);
      expect(again.output()).toContain('Another account and key:');
    },
    60_000,
  );

  itOnTerminal(
    'LOG_FORMAT=json is JSON, without the key in it',
    async () => {
      const own = await createTestDatabase();
      const settings = { ...environment, DATABASE_URL: own.url, LOG_FORMAT: 'json' };
      const program = startOnTerminal(shippedProgram('main.js'), settings);
      await program.until(KEY);
      program.type('\u0003');
      expect(await program.ended).toBe(0);
      const lines = program
        .output()
        .split('\r\n')
        .filter((line) => line.startsWith('{'));
      expect(lines.length).toBeGreaterThan(2);
      expect(lines.filter((line) => KEY.test(line))).toEqual([]);
      await own.drop();
    },
    60_000,
  );

  itOnTerminal('updates one line while Postgres cannot be reached', async () => {
    const program = startOnTerminal(shippedProgram('main.js'), {
      ...environment,
      NO_COLOR: '1',
      DATABASE_URL: `postgres://me:hunter2@127.0.0.1:1/${'x'.repeat(200)}`,
    });
    await program.until(/(?:WARN: Cannot reach Postgres at 127[^\n]*\n[^\n]*){3}/);
    // Before the terminal shows the key that ends the program.
    const shown = program.output();
    program.type('\u0003');
    expect(await program.ended).toBe(0);
    const lines = shown.split('\r\n').filter((line) => line.includes('WARN'));
    const updates = lines.filter((line) => line.startsWith('\u001B[1A\u001B[2K'));
    expect(updates).toHaveLength(lines.length - 1);
    expect(
      lines.map((line) => line.replace('\u001B[1A\u001B[2K', '').length).every((length) => length < 100),
    ).toBe(true);
    expect(program.output()).not.toMatch(/hunter2|^ +at /m);
  });
});

/** The packages that `npm ci --omit=dev` installs. */
const installProduction = async (target: string): Promise<void> => {
  const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8')) as {
    packages: Record<string, { dev?: boolean }>;
  };
  const isThere = (path: string): Promise<boolean> =>
    lstat(path).then(
      () => true,
      () => false,
    );
  const names = Object.keys(packages).filter((name) => name !== '' && packages[name]?.dev !== true);
  // The folder of a package contains its nested packages.
  const roots = names.filter((name) => name.lastIndexOf('node_modules/') === 0);
  for (const name of roots) {
    if (!(await isThere(name))) continue;
    await mkdir(join(target, name, '..'), { recursive: true });
    const copy = spawn('cp', ['-al', name, join(target, name)], { stdio: 'inherit' });
    expect(await once(copy, 'exit')).toEqual([0, null]);
  }
  const list = 'node_modules/.package-lock.json';
  await writeFile(join(target, list), await readFile(list));
};

it('`npm start` works with only the packages of `npm ci --omit=dev`', async () => {
  // Hard links need the same file system.
  const target = await mkdtemp(join(packageDirectory, 'dist', 'production-'));
  try {
    await installProduction(target);
    expect(await readdir(join(target, 'node_modules'))).not.toEqual(
      expect.arrayContaining(['typescript', 'jest']),
    );
    const sources = [
      'app',
      'cli',
      'command',
      'client',
      'console',
      'demo',
      'domain',
      'mcp',
      'migrations',
      'projections',
      'query',
      'shared',
    ];
    const files = ['bundle.js', 'package.json', 'tsconfig.json', 'docs/guides'];
    const copy = spawn('cp', ['-r', '--parents', ...sources, ...files, target], {
      cwd: packageDirectory,
      stdio: 'inherit',
    });
    expect(await once(copy, 'exit')).toEqual([0, null]);
    // In its own process group, as on a terminal.
    const child = spawn('npm', ['start'], {
      cwd: target,
      env: { PATH: process.env['PATH'], HOME: folder, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const program = following(child);
    const [, baseUrl = ''] = await program.until(SERVING);
    expect((await fetch(`${baseUrl}/ready`)).status).toBe(200);
    process.kill(-(child.pid ?? 0), 'SIGINT');
    await program.ended;
    expect(program.output()).toContain('"msg":"stopped"');
  } finally {
    await rm(target, { recursive: true, force: true });
  }
}, 120_000);
