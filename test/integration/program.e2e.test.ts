import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { generousLimits } from '../support/generous-limits.ts';
import { exchangeApart as exchange, startProgram } from '../support/program.ts';
import { startEventStoreProcess } from '../support/eventstoredb/event-store-process.ts';
import { startNameServer, type NameServer } from '../support/name-server.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const KEY = /bx_[A-Za-z0-9]{16}_[A-Za-z0-9_-]{43}/;
const SERVING = /serving at (http:\/\/127\.0\.0\.1:\d+)/;

describe('the program on an existing Postgres', () => {
  let database: TestDatabase;
  let environment: Record<string, string>;
  beforeAll(async () => {
    database = await createTestDatabase();
    environment = { DATABASE_URL: database.url, PORT: '0', LOG_LEVEL: 'info', ...generousLimits };
  });
  afterAll(() => database.drop());

  const advertisers = (baseUrl: string, key: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${baseUrl}/api/v2/buyer/advertisers`, {
      ...init,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    });

  it('shows the first key once; a second start finds all data', async () => {
    const first = startProgram(environment);
    const [, baseUrl = ''] = await first.until(SERVING);
    const [key] = await first.until(KEY);
    await first.until(/curl -s \S+\/api\/v2\/buyer\/advertisers/);
    expect((await advertisers(baseUrl, key, { method: 'POST', body: '{"name":"Kept"}' })).status).toBe(201);
    expect(await first.end('SIGTERM')).toBe(0);

    const second = startProgram({ ...environment, PUBLIC_METRICS: 'true' });
    const [, again = ''] = await second.until(SERVING);
    expect((await fetch(`${again}/metrics`)).status).toBe(200);
    expect(second.output()).not.toMatch(KEY);
    const list = (await (await advertisers(again, key)).json()) as { data: { name: string }[] };
    expect(list.data.map(({ name }) => name)).toEqual(['Kept']);
    expect(await second.end('SIGINT')).toBe(0);
    expect(second.output()).not.toContain(key);
  });

  it('exits if its port is in use, and names the port', async () => {
    const first = startProgram(environment);
    const [, baseUrl = ''] = await first.until(SERVING);
    const { port } = new URL(baseUrl);
    const second = startProgram({ ...environment, PORT: port });
    expect(await second.ended).toBe(1);
    expect(second.output()).toContain(
      `Port ${port} of 127.0.0.1 is in use by another program: stop it, or set PORT`,
    );
    expect(second.output()).not.toMatch(/^ +at /m);
    await first.end('SIGTERM');
  });

  it('loses no acknowledged write when it is killed', async () => {
    const { stdout } = await exchange(['accounts', 'create', '--name', 'Killed', '--json'], environment);
    const { apiKey } = JSON.parse(stdout) as { apiKey: string };
    const program = startProgram(environment);
    const [, baseUrl = ''] = await program.until(SERVING);
    const acknowledged: string[] = [];
    const writer = async (writerId: number): Promise<void> => {
      for (let n = 0; ; n++) {
        const name = `${writerId}-${n}`;
        const answer = await advertisers(baseUrl, apiKey, { method: 'POST', body: JSON.stringify({ name }) });
        if (answer.status === 201) acknowledged.push(name);
      }
    };
    const writers = [1, 2, 3, 4].map((id) => writer(id).catch(() => undefined));
    while (acknowledged.length < 100) await new Promise((resolve) => setTimeout(resolve, 5));
    await program.end('SIGKILL');
    await Promise.all(writers);

    const next = startProgram(environment);
    const [, again = ''] = await next.until(SERVING);
    const found = new Set<string>();
    for (let skip = 0; ; skip += 200) {
      const answer = await fetch(`${again}/api/v2/buyer/advertisers?take=200&skip=${skip}`, {
        headers: { Authorization: `Bearer ${apiKey}` },
      });
      const { data } = (await answer.json()) as { data: { name: string }[] };
      for (const { name } of data) found.add(name);
      if (data.length < 200) break;
    }
    expect(acknowledged.filter((name) => !found.has(name))).toEqual([]);
    await next.end('SIGTERM');
  });

  it('refuses an invalid setting and names it', async () => {
    const program = startProgram({ ...environment, ROLES: 'cook' });
    expect(await program.ended).toBe(2);
    expect(program.output()).toContain('ROLES: ');
  });

  it('in production refuses a superuser and prints no key', async () => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query<{ superuser: boolean }>(
      'select rolsuper as superuser from pg_roles where rolname = current_user',
    );
    await client.end();
    const program = startProgram({
      ...environment,
      NODE_ENV: 'production',
      SECRET_KEYS: `test:${'A'.repeat(43)}`,
    });
    if (rows[0]?.superuser === true) {
      expect(await program.ended).toBe(2);
      expect(program.output()).toContain('superuser');
    } else {
      await program.until(/"msg":"leading"/);
      expect(program.output()).not.toMatch(KEY);
      expect(await program.end('SIGTERM')).toBe(0);
    }
  });

  it('waits for an unavailable database; it is alive and not ready', async () => {
    const program = startProgram({ ...environment, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    const [, baseUrl = ''] = await program.until(/"baseUrl":"([^"]+)"/);
    expect((await fetch(`${baseUrl}/live`)).status).toBe(200);
    expect((await fetch(`${baseUrl}/health`)).status).toBe(503);
    const ready = await fetch(`${baseUrl}/ready`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ status: 'not_ready', parts: { database: { ready: false } } });
    expect((await advertisers(baseUrl, `bx_${'a'.repeat(16)}_${'b'.repeat(43)}`)).status).toBe(503);
    expect(await program.end('SIGTERM')).toBe(0);
  });
});

describe('given a name server that does not answer', () => {
  const answersNothing = (nameServer: NameServer): string =>
    `--import=data:text/javascript,${encodeURIComponent(`import d from 'node:dns'; d.setServers(['${nameServer.address}']);`)}`;

  it('neither a command nor the service waits for a look-up of the client of EventStoreDB at its end', async () => {
    const [database, events, nameServer] = await Promise.all([
      createTestDatabase(),
      startEventStoreProcess(),
      startNameServer({}),
    ]);
    try {
      const environment = {
        ...generousLimits,
        DATABASE_URL: database.url,
        EVENTSTORE_URL: events.url.replace('127.0.0.1', 'localhost'),
        NODE_OPTIONS: answersNothing(nameServer),
        LOG_LEVEL: 'info',
        PORT: '0',
      };
      const startMs = performance.now();
      const verified = await exchange(
        ['events', 'verify', '--from', events.url, '--to', environment.EVENTSTORE_URL],
        environment,
      );
      expect([verified.status, verified.stdout]).toEqual([0, expect.stringContaining('0 differences')]);
      expect(performance.now() - startMs).toBeLessThan(12_000);
      expect(nameServer.asked).toContain('localhost');
      const service = startProgram(environment);
      await service.until(SERVING);
      const stopMs = performance.now();
      expect(await service.end('SIGTERM')).toBe(0);
      expect(performance.now() - stopMs).toBeLessThan(10_000);
      expect(service.output()).toContain('stopped');
    } finally {
      await events.stop();
      nameServer.close();
      await database.drop();
    }
  }, 60_000);
});

describe("the operator's command", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());
  const run = (...args: string[]) => exchange(args, { DATABASE_URL: database.url });

  it('prints one JSON object for a new account', async () => {
    const { status, stdout, stderr } = await run('accounts', 'create', '--name', 'Acme', '--json');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const account = JSON.parse(stdout) as { customerId: number; apiKey: string };
    expect(Object.keys(account)).toEqual(['customerId', 'apiKey']);
    expect(account.apiKey).toMatch(KEY);
    const other = JSON.parse(
      (await run('accounts', 'create', '--name', 'Acme', '--json')).stdout,
    ) as typeof account;
    expect(other.customerId).not.toBe(account.customerId);
  });
  it.each([
    [['accounts', 'create']],
    [['accounts', 'create', '--name', ' ']],
    [['dance']],
    [['keys', 'create', '1']],
    [['keys', 'revoke', '1']],
    [['users', 'create', '1', '--name', 'Mo', '--role', 'king']],
    [['keys', 'list', 'x']],
    [['parked', 'retry']],
    [['--what']],
  ])('prints its usage for %j', async (args) => {
    const { status, stdout, stderr } = await run(...args);
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain('Usage:');
  });
  it('manages users and keys, with one JSON object per line', async () => {
    const json = async <T>(...args: string[]): Promise<T[]> => {
      const { status, stdout, stderr } = await run(...args, '--json');
      expect([args, status, stderr]).toEqual([args, 0, '']);
      return stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as T);
    };
    interface Key {
      readonly id: string;
      readonly key?: string;
      readonly status: string;
      readonly scopes: readonly string[];
    }
    const [account] = await json<{ customerId: number }>('accounts', 'create', '--name', 'Keys');
    const id = String(account?.customerId);
    const [user] = await json<{ userId: string }>('users', 'create', id, '--name', 'Mo', '--role', 'member');
    const words = ['--name', 'Mo’s', '--user', user?.userId ?? '', '--scopes', 'read'];
    const [issued] = await json<Key>('keys', 'create', id, ...words, '--expires-at', '2999-01-01T00:00:00Z');
    expect(issued).toMatchObject({
      key: expect.stringMatching(KEY),
      scopes: ['exchange:read'],
      expiresAt: '2999-01-01T00:00:00.000Z',
    });
    expect((await run('keys', 'revoke', id, issued?.id ?? '')).status).toBe(0);
    const keys = await json<Key>('keys', 'list', id);
    expect(keys.map(({ status, key }) => [status, key])).toEqual([
      ['REVOKED', undefined],
      ['ACTIVE', undefined],
    ]);
    expect((await run('accounts', 'disable', id)).status).toBe(0);
    const accounts = await json<{ customerId: number; status: string; users: unknown[] }>('accounts', 'list');
    expect(accounts.at(-1)).toMatchObject({
      customerId: Number(id),
      status: 'DISABLED',
      users: [{ role: 'admin' }, { id: user?.userId, role: 'member' }],
    });
    expect((await run('keys', 'revoke', id, 'unknown')).status).toBe(1);
  });
  it('prints no lines if there are no parked streams', async () => {
    expect(await run('parked', 'list')).toEqual({
      status: 0,
      stdout: '',
      stderr: 'No stream is parked.\n',
    });
    expect((await run('parked', 'retry', 'advertisers', 'advertiser-1-1')).stdout).toContain('not parked');
  });
  it('lists every setting', async () => {
    expect((await run('config')).stdout).toMatch(/^PORT\n {4}TCP port/m);
  });
});
