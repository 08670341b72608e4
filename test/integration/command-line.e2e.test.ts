import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CommanderError } from 'commander';
import { packageDirectory, version } from '../../app/version.ts';
import { ArgumentsError } from '../../cli/parse-args.ts';
import { relativeTime } from '../../cli/print-table.ts';
import { lineOf } from '../../cli/progress-bar.ts';
import { shippedProgram } from '../support/bundles.ts';
import { exchangeApart as exchange, operate } from '../support/program.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/test-database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const run = (...words: readonly string[]) => exchange(words, { DATABASE_URL: database.url });

/** Runs the program on a pseudo terminal. @returns its output */
const atTerminal = async (
  words: string,
  columns: number,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> => {
  const command = `stty cols ${columns}; ${process.execPath} ${shippedProgram('exchange.js')} ${words}`;
  const child = spawn('script', ['-qfec', command, '/dev/null'], {
    env: { PATH: process.env['PATH'], TERM: 'xterm-256color', DATABASE_URL: database.url, ...environment },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const [shown] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return shown.replaceAll('\r\n', '\n');
};

const ESCAPE = String.fromCodePoint(27);
const wordsOf = (line: string): readonly string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

it('npx exchange runs in a clone', async () => {
  const { stdout } = await promisify(execFile)('npx', ['exchange', '--version'], { cwd: packageDirectory });
  expect(stdout).toBe(`${version}\n`);
}, 60_000);

it('the help fits the width of the terminal, and is coloured unless NO_COLOR is set', async () => {
  for (const words of ['help', 'read-models rebuild --help', 'history --help']) {
    const shown = await atTerminal(words, 80);
    expect(shown).toContain(`${ESCAPE}[1m`);
    const plain = await atTerminal(words, 80, { NO_COLOR: '1' });
    expect(plain).not.toContain(ESCAPE);
    expect(plain).toContain('Examples:\n  exchange ');
    // A usage or an example is one line of any length.
    const wide = plain.split('\n').filter((line) => line.length > 80 && !/^ {2}exchange |^Usage/.test(line));
    expect({ words, wide }).toEqual({ words, wide: [] });
  }
});

it('every example of the help has valid arguments', async () => {
  const { stdout } = await run('help', '--json');
  const examples = stdout
    .trimEnd()
    .split('\n')
    .flatMap((line) => (JSON.parse(line) as { examples: string[] }).examples);
  expect(examples.length).toBeGreaterThan(25);
  for (const example of examples) {
    const failure = await operate(wordsOf(example), () => Promise.reject(new Error('not opened'))).then(
      () => undefined,
      (error: unknown) => error,
    );
    // Its arguments were understood: the folder of the example is not there.
    if (failure instanceof ArgumentsError && failure.message.endsWith('contains no complete backup'))
      continue;
    expect([example, failure instanceof CommanderError, failure instanceof ArgumentsError]).toEqual([
      example,
      false,
      false,
    ]);
  }
});

describe('a user error', () => {
  it.each([
    'accounts disable 987',
    'users create 987 --name Mo --role member',
    'users list 987',
    'users invite 987 --email mo@example.com --role member',
    'users set-role 987 987-1 --role member',
    'users remove 987 987-1',
    'users link 987 987-1',
    'users disable-totp 987 987-1',
    'keys create 987 --name CI',
    'keys list 987',
    'keys revoke 987 x',
    'creatives review 987 cre_1 1 --status rejected --reason Loud',
    'history 987 /audit-logs',
    'forget --account 987',
  ])('an unknown account results in status 1 and one sentence: %s', async (words) => {
    expect(await run(...words.split(' '))).toEqual({
      status: 1,
      stdout: '',
      stderr: 'There is no account 987.\n',
    });
  });

  it('an unreachable database, an unknown role or an unknown database results in one sentence without the password', async () => {
    const other = (change: (url: URL) => void): string => {
      const url = new URL(database.url);
      change(url);
      return url.href;
    };
    for (const [wanted, address, sentence] of [
      [
        1,
        'postgres://user:secret@127.0.0.1:1/none',
        /^Cannot reach Postgres at 127\.0\.0\.1:1\/none: connection refused\./,
      ],
      [
        2,
        other((url) => Object.assign(url, { username: 'stranger', password: 'secret' })),
        / refuses the (password of the )?user "stranger".*: correct DATABASE_URL\./,
      ],
      [
        2,
        other((url) => Object.assign(url, { pathname: '/absent' })),
        / has no database "absent": correct DATABASE_URL\./,
      ],
    ] as const) {
      const { status, stdout, stderr } = await exchange(['accounts', 'list'], { DATABASE_URL: address });
      expect({ status, stdout, stderr }).toEqual({
        status: wanted,
        stdout: '',
        stderr: expect.stringMatching(sentence),
      });
      expect(stderr).toMatch(/^[^\n]+\n$/);
      expect(stderr).not.toContain('secret');
    }
  });

  it('in the arguments prints the usage, not the whole help', async () => {
    const { status, stderr } = await run('keys', 'create', '1');
    expect(status).toBe(2);
    expect(stderr).toBe(
      "error: required option '--name <NAME>' not specified\n" +
        'Usage: exchange keys create [options] <ACCOUNT>\nMore: exchange keys create --help\n',
    );
  });
});

it('lists are tables with relative times; an empty list prints a message to standard error', async () => {
  for (const [words, sentence] of [
    ['accounts list', 'There is no account yet. Create one: exchange accounts create --name NAME\n'],
    ['work list', 'The work list is empty.\n'],
    ['parked list', 'No stream is parked.\n'],
  ] as const) {
    expect(await run(...words.split(' '))).toEqual({ status: 0, stdout: '', stderr: sentence });
    expect(await run(...words.split(' '), '--json')).toEqual({ status: 0, stdout: '', stderr: '' });
  }
  await run('accounts', 'create', '--name', 'Acme');
  expect((await run('accounts', 'list')).stdout).toMatch(
    /^account {2}status {3}name {2}seller {2}users\n\d+ +ENABLED {2}Acme {2}- {7}\S+ admin /,
  );
  const keys = (await run('keys', 'list', '1')).stdout;
  expect(keys).toMatch(/^key +masked +status +created +last used +name +scopes\n/);
  expect(keys).toMatch(/ ACTIVE +(now|\d+ seconds? ago) +never +/);
});

it('doctor shows one table and one sentence per problem, and does not change a folder without a database', async () => {
  const found = await run('doctor');
  expect(found.status).toBe(0);
  expect(found.stdout).toMatch(/^check +state +finding\nsettings +ok +valid; roles api, projector, worker\n/);
  expect(found.stdout).toMatch(/^clocks +ok +\d+ ms between this machine and the database$/m);
  expect(found.stdout).toMatch(/^processes +note +no process of the service runs$/m);
  const broken = await exchange(['doctor'], { DATABASE_URL: database.url, REDIS_URL: 'redis://127.0.0.1:1' });
  expect(broken.status).toBe(1);
  expect(broken.stdout).toMatch(/^redis +PROBLEM +\S[^]*\n\nredis: Start Redis, or correct REDIS_URL\.\n$/m);
  const none = await exchange(['doctor'], { DATA_DIR: '/tmp/no-such-exchange-data' });
  expect([none.status, none.stdout]).toEqual([0, expect.stringContaining('the first start creates it')]);
});

it('migrate brings the schema of an empty database to this version', async () => {
  const empty = await createEmptyDatabase();
  const settings = { DATABASE_URL: empty.url };
  const before = await exchange(['doctor'], settings);
  expect([before.status, before.stdout]).toEqual([1, expect.stringMatching(/\d+ migrations are pending/)]);
  const migrated = await exchange(['migrate', '--json'], settings);
  expect([migrated.status, JSON.parse(migrated.stdout)]).toEqual([0, { version }]);
  expect((await exchange(['migrate'], settings)).stdout).toBe(`The schema is that of version ${version}.\n`);
  expect((await exchange(['doctor'], settings)).stdout).toMatch(/schema up to date/);
  await empty.drop();
});

it('relative times use the largest whole unit', () => {
  const now = Date.parse('2026-06-15T12:00:00Z');
  const times = [
    '2026-06-15T12:00:00Z',
    '2026-06-15T11:57:10Z',
    '2026-06-17T13:00:00Z',
    '2025-01-01T00:00:00Z',
  ];
  expect(times.map((at) => relativeTime(at, now))).toEqual([
    'now',
    '2 minutes ago',
    'in 2 days',
    '1 year ago',
  ]);
});

it('the progress line never exceeds the width', () => {
  const shown = { fraction: 0.5, etaSeconds: 90, phase: 'advertisers, 3 of 17', events: 12_345 };
  expect(lineOf(shown, 79, true)).toBe(
    '[############-----------] advertisers, 3 of 17  50 %, 12,345 events, 2 min left',
  );
  for (const width of [10, 40, 60, 79, 119, 300]) {
    expect(lineOf(shown, width, true).length).toBeLessThanOrEqual(width);
  }
});
