import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Client } from 'pg';
import { packageDirectory } from '../../app/version.ts';
import { exchange, startExchange, type Program } from '../support/program.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { until } from '../support/until.ts';

/** Sends Ctrl-C to each command of the operator's program (docs/operate/command-line.md). */

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  // Prevents the projector from sealing.
  service = await startRunningService({ LOG_SEAL_SECONDS: '0' });
  account = await service.openAccount();
  await Promise.all(
    Array.from({ length: 20 }, (_, n) => account.api.post('/advertisers', { name: `A ${n}` })),
  );
  // Must run before another connection blocks the read model.
  expect(await listed()).toBe(20);
}, 120_000);
afterAll(() => service.stop(), 120_000);

const one = async <T>(sql: string): Promise<T> => (await service.pool.query(sql)).rows[0] as T;

/** The live read model and its copies. */
const tables = () =>
  one<{ live: string; copies: number; schemas: number }>(`select 'advertisers'::regclass::oid::text as live,
    (select count(*)::int from read_model_copies) as copies,
    (select count(*)::int from pg_namespace where nspname like 'copy\\_of\\_%') as schemas`);

const listed = async (): Promise<number> => {
  const { status, body } = await account.api.get<readonly unknown[]>('/advertisers?take=1');
  expect(status).toBe(200);
  return body.meta.pagination.total;
};

/** Runs `work` while a connection holds a lock. */
const holding = async (lock: string, work: () => Promise<void>): Promise<void> => {
  const client = new Client({ connectionString: service.databaseUrl });
  await client.connect();
  try {
    await client.query(`begin; ${lock}`);
    await work();
  } finally {
    await client.end();
  }
};

/** Resolves when a statement with this text waits for a lock. */
const waiting = async (statement: string): Promise<void> => {
  await until(
    async () =>
      (
        await one<{ found: boolean }>(`select exists (select from pg_stat_activity
           where wait_event_type = 'Lock' and pid <> pg_backend_pid() and query like '${statement}') as found`)
      ).found,
    60_000,
  );
};

const CHECKPOINT = `select from projection_checkpoints where name = 'advertisers' for update`;
const meetsTheLiveOne = (): Promise<void> =>
  waiting('select position from projection_checkpoints%for update');

describe.each([
  ['rebuild', 1],
  ['verify', 2],
] as const)('read-models %s, interrupted', (verb, status) => {
  it(`ends with status ${status}, drops its copy, and leaves the live read model unchanged`, async () => {
    const before = await tables();
    await holding(CHECKPOINT, async () => {
      const command = startExchange(['read-models', verb, 'advertisers'], service.stores);
      await meetsTheLiveOne();
      expect(await tables()).toMatchObject({ live: before.live, copies: 1 });
      expect(await listed()).toBe(20);
      expect(await command.end('SIGINT')).toBe(status);
      expect(command.output()).toContain(
        'interrupted: the live read model is unchanged, and its copy is dropped',
      );
      expect(await tables()).toEqual(before);
      expect(await listed()).toBe(20);
    });
    const again = await exchange(['read-models', verb, 'advertisers', '--json'], service.stores);
    expect([again.status, JSON.parse(again.stdout)]).toMatchObject([0, { resumed: false, differences: 0 }]);
  }, 300_000);
});

it('a rebuild that is interrupted twice keeps its copy, and the next run continues it', async () => {
  const before = await tables();
  let command: Program | undefined;
  await holding(CHECKPOINT, async () => {
    command = startExchange(['read-models', 'rebuild', 'advertisers'], service.stores);
    await meetsTheLiveOne();
    await holding('select from read_model_copies for update', async () => {
      const ended = command?.end('SIGINT');
      await waiting('%delete from read_model_copies%');
      await command?.end('SIGINT');
      // Killed, or ended because the lock was not released.
      expect(await ended).not.toBe(0);
    });
  });
  expect(await tables()).toMatchObject({ live: before.live, copies: 1 });
  expect(await listed()).toBe(20);
  const { status, stdout } = await exchange(
    ['read-models', 'rebuild', 'advertisers', '--json'],
    service.stores,
  );
  expect([status, JSON.parse(stdout)]).toMatchObject([0, { resumed: true, switched: true }]);
  expect((await tables()).copies).toBe(0);
}, 300_000);

it('log verify ends by the signal, writes nothing, and can run again', async () => {
  expect((await exchange(['log', 'seal'], service.stores)).status).toBe(0);
  const sealed = 'select count(*)::int as count, max(last) as last from log_checkpoints';
  const before = await one(sealed);
  const whole = await exchange(['log', 'verify', '--json'], service.stores);
  expect(JSON.parse(whole.stdout)).toMatchObject({ broken: null });
  await holding('lock table log_checkpoints in access exclusive mode', async () => {
    const command = startExchange(['log', 'verify'], service.stores);
    await waiting('%log_checkpoints%');
    // Null means the signal ended the program. A shell reports 130.
    expect(await command.end('SIGINT')).toBeNull();
  });
  expect(await listed()).toBe(20);
  expect(await one(sealed)).toEqual(before);
  expect((await exchange(['log', 'verify'], service.stores)).status).toBe(whole.status);
}, 300_000);

/** Runs `npx exchange` on a pseudo terminal, where Ctrl-C reaches npm, its shell and the program. */
const atTerminal = (words: string, environment: Readonly<Record<string, string>>) => {
  const child = spawn('script', ['-qfec', `npx exchange ${words}`, '/dev/null'], {
    cwd: packageDirectory,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let shown = '';
  child.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  return {
    child,
    output: () => shown,
    ended: once(child, 'close').then(([status]) => status as number | null),
  };
};

it.each([
  ['log verify', 'lock table log_checkpoints in access exclusive mode', '%log_checkpoints%', '^C'],
  [
    'read-models rebuild advertisers',
    CHECKPOINT,
    'select position from projection_checkpoints%',
    'its copy is dropped',
  ],
])(
  'Ctrl-C in `npx exchange %s` ends it with status 130, as npm does for every program',
  async (words, lock, statement, said) => {
    await holding(lock, async () => {
      const { child, output, ended } = atTerminal(words, service.stores);
      await waiting(statement);
      child.stdin.write('\u0003');
      expect(await ended).toBe(130);
      expect(output()).toContain(said);
    });
  },
  120_000,
);
