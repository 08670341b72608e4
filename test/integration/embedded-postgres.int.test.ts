import { execFile, spawn } from 'node:child_process';
import { lstat, mkdtemp, readFile, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { createLog } from '../../app/log.ts';
import { attach, PortTakenError } from '../../shared/postgres/embedded/attach.ts';
import { locateBinaries } from '../../shared/postgres/embedded/binaries.ts';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../shared/postgres/embedded/embedded-postgres.ts';
import { findPostmaster } from '../../shared/postgres/embedded/postmaster-file.ts';
import { isAlive, waitForExit } from '../../shared/postgres/embedded/processes.ts';
import { chosenSizes, type PostgresSettings } from '../../shared/postgres/embedded/settings.ts';
import { unprivilegedUser } from '../../shared/postgres/embedded/unprivileged-user.ts';
import { startPostgresUser } from '../support/embedded-postgres-user.ts';
import { createTestDataDir, removeDataDir } from '../support/test-postgres.ts';

const log = createLog('silent');
const isRoot = process.getuid?.() === 0;

let dataDir: string;
const started: EmbeddedPostgres[] = [];

const start = async (directory = dataDir, settings: PostgresSettings = {}): Promise<EmbeddedPostgres> => {
  const postgres = await startEmbeddedPostgres({ dataDir: directory, log, settings });
  started.push(postgres);
  return postgres;
};

const query = async (url: string, sql: string): Promise<readonly Record<string, unknown>[]> => {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
};

/** @returns ms until `sql` succeeds; fails after 10 s */
const untilAnswered = async (url: string, sql: string): Promise<number> => {
  const startMs = performance.now();
  for (;;) {
    try {
      await query(url, sql);
      return Math.round(performance.now() - startMs);
    } catch (error) {
      if (performance.now() - startMs > 10_000) throw error;
      await delay(10);
    }
  }
};

const dataDirectory = (): Promise<string> => realpath(join(dataDir, 'postgres'));

const postmasterPid = async (): Promise<number | undefined> =>
  (await findPostmaster(await dataDirectory()))?.pid;

const killPostmaster = async (): Promise<void> => {
  const pid = await postmasterPid();
  if (pid === undefined) throw new Error('no postmaster');
  process.kill(pid, 'SIGKILL');
  await waitForExit(pid, 2_000);
};

let template: string;

/** Gives each test of the group a copy of an initialized cluster, which is faster than an initdb. */
const withCluster = (): void => {
  beforeEach(async () => {
    await promisify(execFile)('cp', ['-a', `${template}/.`, dataDir]);
  });
};

beforeAll(async () => {
  template = await createTestDataDir();
  await (await startEmbeddedPostgres({ dataDir: template, log })).stop();
});

afterAll(() => removeDataDir(template));

beforeEach(async () => {
  dataDir = await createTestDataDir();
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((postgres) => postgres.stop()));
  await removeDataDir(dataDir);
});

describe('the first start and the next', () => {
  it('create a cluster, and find it unchanged', async () => {
    const firstMs = performance.now();
    const first = await start();
    const laterMs = performance.now();
    await query(first.url, 'create table kept as select 42 as answer');
    await first.stop();
    expect(await postmasterPid()).toBeUndefined();
    const restartMs = performance.now();
    const second = await start();
    const tookMs = [laterMs - firstMs, performance.now() - restartMs].map(Math.round);
    console.info(`first start ${tookMs[0]} ms, later start ${tookMs[1]} ms`);
    expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
    expect(second.url).toBe(first.url);
  });

  it('give the service a role without special rights, and the same collation everywhere', async () => {
    const { url } = await start();
    const [role] = await query(
      url,
      `select current_user as name, rolsuper, rolcreaterole, rolbypassrls, current_setting('fsync') as fsync,
         (select datlocprovider::text from pg_database where datname = current_database()) as provider
       from pg_roles where rolname = current_user`,
    );
    expect(role).toEqual({
      name: 'exchange',
      rolsuper: false,
      rolcreaterole: false,
      rolbypassrls: false,
      fsync: 'on',
      provider: 'b',
    });
    const wrong = new URL(url);
    wrong.password = 'guessed';
    await expect(query(wrong.href, 'select 1')).rejects.toThrow('password authentication failed');
    expect((await lstat(join(dataDir, 'postgres-secrets.json'))).mode & 0o777).toBe(0o600);
  });

  it('accept a folder of any name', async () => {
    const directory = join(dataDir, `it's "$HOME" and \`more\``);
    const { url, stop } = await start(directory);
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await stop();
    await (await start(directory)).stop();
  });

  it('start over if the first start was killed halfway', async () => {
    for (const afterMs of [350, 700]) {
      const user = startPostgresUser(dataDir);
      await delay(afterMs);
      await user.kill();
    }
    const { url } = await start();
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
    const left = (await readdir(dataDir)).filter((name) => name.startsWith('.'));
    // At most the folder of an initdb that outlived its parent.
    expect(left.length).toBeLessThanOrEqual(1);
  });
});

describe('its memory settings', () => {
  withCluster();

  const sizesOf = async ({ url }: EmbeddedPostgres): Promise<Record<string, unknown>> => {
    const megabytes = (name: string): string => `pg_size_bytes(current_setting('${name}')) / 2^20 as ${name}`;
    const [sizes = {}] = await query(
      url,
      `select ${megabytes('shared_buffers')}, ${megabytes('max_wal_size')}`,
    );
    return sizes;
  };

  it('fit a laptop', async () => {
    const sizes = await sizesOf(await start());
    expect(sizes['shared_buffers']).toBeLessThanOrEqual(256);
    expect(sizes['max_wal_size']).toBeLessThanOrEqual(1_024);
  });

  it('can be set', async () => {
    const settings = chosenSizes({ POSTGRES_BUFFERS_MB: 300, POSTGRES_WAL_MB: 2_000 });
    expect(await sizesOf(await start(dataDir, settings))).toEqual({
      shared_buffers: 300,
      max_wal_size: 2_000,
    });
  });

  it('prevent the start if Postgres refuses them, with the message of Postgres', async () => {
    const startMs = performance.now();
    await expect(start(dataDir, { shared_buffers: 'plenty' })).rejects.toThrow(
      'invalid value for parameter "shared_buffers"',
    );
    // A refused setting is not retried until the start times out.
    expect(performance.now() - startMs).toBeLessThan(20_000);
  });
});

describe('two processes that start concurrently', () => {
  it('both succeed on an empty folder', async () => {
    const users = [startPostgresUser(dataDir), startPostgresUser(dataDir)];
    const urls = await Promise.all(users.map((user) => user.url));
    expect(new Set(urls).size).toBe(1);
    expect(await query(urls[0] ?? '', 'select 1 as one')).toEqual([{ one: 1 }]);
    await Promise.all(users.map((user) => user.stop()));
    expect(await postmasterPid()).toBeUndefined();
    expect((await readdir(dataDir)).sort()).toEqual(['postgres', 'postgres-secrets.json', 'postgres.log']);
  });
});

describe('several processes', () => {
  withCluster();

  it('all start if they start concurrently', async () => {
    const users = [1, 2, 3].map(() => startPostgresUser(dataDir));
    expect(new Set(await Promise.all(users.map((user) => user.url))).size).toBe(1);
    await Promise.all(users.map((user) => user.stop()));
    expect(await postmasterPid()).toBeUndefined();
  });

  it('stop Postgres only with the last process', async () => {
    const service = await start();
    const pid = await postmasterPid();
    const operator = startPostgresUser(dataDir);
    expect(await operator.url).toBe(service.url);
    await service.stop();
    expect(await postmasterPid()).toBe(pid);
    await query(await operator.url, 'select 1');
    await operator.stop();
    expect(await postmasterPid()).toBeUndefined();
  });

  it('stop a paused Postgres', async () => {
    const postgres = await start();
    const pid = (await postmasterPid()) ?? 0;
    process.kill(pid, 'SIGSTOP');
    const startMs = performance.now();
    await postgres.stop();
    expect(await isAlive(pid)).toBe(false);
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });

  it('adopt the Postgres of a killed process', async () => {
    const killed = startPostgresUser(dataDir);
    const url = await killed.url;
    const pid = await postmasterPid();
    await killed.kill();
    const next = await start();
    expect(next.url).toBe(url);
    expect(await postmasterPid()).toBe(pid);
    await next.stop();
    expect(await isAlive(pid ?? 0)).toBe(false);
  });
});

describe('a killed Postgres', () => {
  withCluster();

  it('restarts at the same URL, with busy backends and several processes', async () => {
    const { url } = await start();
    const other = startPostgresUser(dataDir);
    await other.url;
    await query(url, 'create table kept as select 42 as answer');
    // This backend notices neither the end of its client nor of its postmaster.
    query(url, 'do $$ begin loop end loop; end $$').catch(() => undefined);
    await delay(100);
    await killPostmaster();
    const tookMs = await untilAnswered(url, 'insert into kept values (43)');
    console.info(`accepts writes ${tookMs} ms after kill -9 of the postmaster`);
    expect(await query(url, 'select count(*)::int as count from kept')).toEqual([{ count: 2 }]);
    await other.stop();
    // If the other process ends before this one reconnects, it stops Postgres as its last user.
    await untilAnswered(url, 'select 1');
  });

  it('restarts repeatedly for a process that did not start it', async () => {
    const starter = startPostgresUser(dataDir);
    await starter.url;
    const { url } = await start();
    await starter.kill();
    const tookMs: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      await killPostmaster();
      tookMs.push(await untilAnswered(url, 'select 1'));
    }
    console.info(`restarted after ${tookMs.join(', ')} ms`);
  });

  it('starts even if the process id in its stale file belongs to another program', async () => {
    const killed = startPostgresUser(dataDir);
    const url = await killed.url;
    await killed.kill();
    const file = join(await dataDirectory(), 'postmaster.pid');
    const content = await readFile(file, 'utf8');
    await killPostmaster();
    const user = await unprivilegedUser();
    // Runs as the same user, because Postgres ignores the process of another user.
    const bystander = spawn('sleep', ['60'], { ...(user && { uid: user.uid, gid: user.gid }), cwd: '/' });
    await writeFile(file, content.replace(/^\d+/, String(bystander.pid)));
    const next = await start();
    // Another program may have taken the port meanwhile.
    const withoutPort = (address: string): string => address.replace(/:\d+\//, '/');
    expect(withoutPort(next.url)).toBe(withoutPort(url));
    await query(next.url, 'select 1');
    expect(bystander.exitCode).toBeNull();
    bystander.kill();
  });

  it('is not confused with another program at its port', async () => {
    const { url, stop } = await start();
    await stop();
    const port = Number(new URL(url).port);
    const squatter = createServer().listen(port, '127.0.0.1');
    await delay(20);
    const user = await unprivilegedUser();
    const options = {
      dataDirectory: await dataDirectory(),
      binaries: await locateBinaries(user),
      user,
      logFile: join(dataDir, 'postgres.log'),
      settings: {},
      adminUrl: () => '',
    };
    await expect(attach(options, port)).rejects.toThrow(PortTakenError);
    // A new process chooses another port.
    const next = await start();
    expect(next.url).not.toBe(url);
    squatter.close();
  });
});

(isRoot ? describe : describe.skip)('run by root', () => {
  it('stores the data elsewhere if the user of Postgres cannot access the folder', async () => {
    const secret = await mkdtemp(join(tmpdir(), 'buyer-exchange-secret-'));
    const hidden = join(secret, 'data');
    try {
      const first = await start(hidden);
      await query(first.url, 'create table kept as select 42 as answer');
      await first.stop();
      expect((await lstat(join(hidden, 'postgres'))).isSymbolicLink()).toBe(true);
      const second = await start(hidden);
      expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
      await second.stop();
    } finally {
      await removeDataDir(hidden);
      await rm(secret, { recursive: true, force: true });
    }
  });
});
