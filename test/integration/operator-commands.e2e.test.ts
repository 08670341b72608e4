import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { version } from '../../app/version.ts';
import { advertiserStream } from '../../domain/advertisers/advertiser.ts';
import { connectCopy, holdCopy } from '../../projections/engine/copy/copy-state.ts';
import { advertisersProjection } from '../../projections/advertisers.ts';
import { rebuildOnline } from '../../projections/engine/copy/online-rebuild.ts';
import { openPostgresStore } from '../contract/make-postgres-store.ts';
import { sampleEvent } from '../contract/sample-events.ts';
import { exchange, type ProcessResult } from '../support/program.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';
import { rebuildOptions } from '../support/rebuild-options.ts';

/** Every command on real stores: its JSON output and exit status. */

const TOKEN = 'token-of-an-agent';
const SEED = 'S'.repeat(43);
const [OLD_KEY, NEW_KEY] = ['A'.repeat(43), 'Bw'.padEnd(43, 'A')];

let service: RunningService;
let account: TestAccount;
let elsewhere: TestDatabase;
const known: {
  -readonly [
    Name in 'advertiser' | 'client' | 'creative' | 'customer' | 'key' | 'record' | 'stream'
  ]?: string;
} = {};
const subject = createHash('sha256').update('jane@example.com').digest('hex');

beforeAll(async () => {
  service = await startRunningService({ SECRET_KEYS: `test:${OLD_KEY},zest:${NEW_KEY}` });
  account = await service.openAccount();
  elsewhere = await createTestDatabase();
  const { api, customerId } = account;
  const advertiser = await api.post<{ id: number }>('/advertisers', { name: 'Acme', sandbox: true });
  const advertiserId = advertiser.body.data.id;
  const campaign = await api.post<{ id: string }>('/campaigns', { advertiserId, name: 'Spring' });
  const creative = await api.post<{ id: string }>(`/campaigns/${campaign.body.data.id}/creatives/create`, {
    formatKind: 'display_tag',
    copy: { tag: '<script></script>' },
  });
  const answers = [
    await api.post(`/creatives/${creative.body.data.id}/submit`, { sellerIds: [1] }),
    await api.post('/adcp-agents', {
      name: 'Agent',
      url: 'https://agent.example.com/mcp',
      protocol: 'MCP',
      auth: { type: 'bearer', token: TOKEN },
      accountId: 'test',
    }),
    await api.post(`/advertisers/${advertiserId}/audiences/sync`, {
      audiences: [{ audienceId: 'vip', add: [{ externalId: 'crm-1', hashedEmail: subject }] }],
    }),
  ];
  expect(answers.map(({ status, text }) => (status < 300 ? 'done' : text))).toEqual(
    answers.map(() => 'done'),
  );
  const agentId = (answers[1] as { body: { data: { id: string } } }).body.data.id;
  const toggled = await api.post<{ id: string }[]>(`/advertisers/${advertiserId}/syndicate`, {
    resourceType: 'AUDIENCE',
    resourceId: 'vip',
    adcpAgentIds: [agentId],
    enabled: true,
  });
  known.record = toggled.body.data[0]?.id ?? toggled.text;
  const stream = advertiserStream(customerId, advertiserId);
  Object.assign(known, { creative: creative.body.data.id, customer: String(customerId), stream });
});
afterAll(async () => {
  await service.stop();
  await elsewhere.drop();
});

const settings = (): Readonly<Record<string, string>> => ({
  ...service.stores,
  DATA_DIR: service.dataDir,
  SECRET_KEYS: `test:${OLD_KEY},zest:${NEW_KEY}`,
  LOG_SIGNING_KEYS: `2026:${SEED}`,
});

const run = (words: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<ProcessResult> =>
  exchange(words, { ...settings(), ...more });

const allCommands = async () =>
  (await run(['help', '--json'])).stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as CommandHelp);

interface CommandHelp {
  readonly command: string;
  readonly places: readonly string[];
  readonly more?: string;
  readonly about: string;
}

interface Example {
  /** The arguments after the name of the command. */
  readonly words?: () => readonly string[];
  readonly more?: Readonly<Record<string, string>>;
  readonly before?: () => Promise<unknown>;
  /** Default 0. */
  readonly status?: 0 | 1 | 2;
  /** Members that each line must contain. */
  readonly lines: readonly object[];
  /** Whether more lines may follow. */
  readonly isLonger?: boolean;
  readonly after?: (lines: readonly Readonly<Record<string, unknown>>[]) => unknown;
}

const word = (name: keyof typeof known): string => known[name] ?? `no ${name} yet`;
const text = expect.any(String) as unknown as string;
const count = expect.any(Number) as unknown as number;
const key = expect.stringMatching(/^bx_/) as unknown as string;
const PASSWORD = 'nine purple walruses';
const tokenIn = (line: Readonly<Record<string, unknown>> | undefined): string =>
  String(line?.['link']).split('#token=')[1] ?? '';
const post = (path: string, body: object): Promise<Response> =>
  fetch(`${service.baseUrl}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Origin: service.baseUrl },
    body: JSON.stringify(body),
  });
const park = async (): Promise<void> => {
  const event = sampleEvent({ type: 'FromTheFuture' });
  const metadata = { ...event.metadata, customerId: account.customerId };
  await service.store.append(word('stream'), [{ ...event, metadata }], 'any');
  const { pool } = service;
  // The read model of advertisers and the feed of notifications park it.
  await until(async () => (await pool.query('select from parked_streams')).rowCount === 2);
};
const unpark = async (): Promise<void> => {
  await service.pool.query('delete from parked_streams');
};
const advertiserPath = (): string => `/advertisers/${word('stream').split('-').at(-1)}`;
const historyOf = (what: string): readonly string[] => [
  String(account.customerId),
  `${advertiserPath()}${what}`,
];
const copied = () => ['--from', service.databaseUrl, '--to', elsewhere.url];
const backupFolder = () => join(service.dataDir, 'backup');
const isPostgres = process.env['TEST_EVENTSTORE'] === undefined;

/** Run in this order while the service runs. The examples in `stopped` run after its end. */
const served: Readonly<Record<string, readonly Example[]>> = {
  'backup create': [
    { words: () => [backupFolder()], lines: [{ step: 'backup', rows: count, events: count, assets: 0 }] },
  ],
  'accounts create': [
    {
      words: () => ['--name', 'Second', '--domain', 'https://WWW.Second.example/about'],
      lines: [{ customerId: count, apiKey: key, customerDomain: 'second.example' }],
      after: ([line]) => (known.customer = String(line?.['customerId'])),
    },
    { words: () => ['--name', 'Third', '--domain', 'no domain'], status: 2, lines: [] },
  ],
  'syndication explain': [
    {
      words: () => [word('record')],
      lines: [
        {
          record: { resourceId: 'vip', enabled: true },
          generation: 1,
          history: expect.arrayContaining([
            expect.objectContaining({ event: 'SyndicationToggled', status: 'PENDING', said: 'switched on' }),
          ]) as unknown,
        },
      ],
    },
    { words: () => ['syn_00000000000040008000000000000000'], status: 1, lines: [] },
    { words: () => ['nothing'], status: 2, lines: [] },
  ],
  'work list': [
    {
      before: () =>
        service.pool.query(
          `insert into work_list (kind, customer_id, key, revision, due_at, attempts, last_error)
           values ('test', 1, gen_random_uuid(), '1', 'infinity', 2, 'It is unavailable.')`,
        ),
      words: () => ['test'],
      lines: [{ kind: 'test', customerId: 1, dueAt: null, attempts: 2, lastError: 'It is unavailable.' }],
    },
    { words: () => ['another'], lines: [] },
  ],
  // With a valid key it does not end: listen.e2e.test.ts.
  listen: [
    {
      words: () => ['--forward-to', 'http://127.0.0.1:4400', '--url', service.baseUrl, '--key', 'bx_unknown'],
      status: 1,
      lines: [{ listening: text, forwardTo: 'http://127.0.0.1:4400', secret: text }],
    },
    { words: () => ['--forward-to', '127.0.0.1:4400', '--key', 'bx_unknown'], status: 2, lines: [] },
  ],
  history: [
    {
      words: () => historyOf('/history?take=1'),
      lines: [{ events: [{ revision: 1, type: 'AdvertiserCreated' }] }],
      after: async ([line]) => {
        const answer = await account.api.get(`${advertiserPath()}/history?take=1`);
        expect(line).toEqual(answer.body.data);
      },
    },
    {
      words: () => historyOf('/explain?path=/name'),
      lines: [{ revision: 2, members: [{ path: '/name', value: 'Acme' }] }],
    },
    {
      words: () => historyOf('/diff?from=0&to=1'),
      lines: [{ from: { revision: 0 }, to: { revision: 1 } }],
    },
    {
      words: () => historyOf('?asOf=2'),
      lines: [{ name: 'Acme' }],
      after: async ([line]) => {
        expect(line).toEqual((await account.api.get(advertiserPath())).body.data);
      },
    },
    {
      words: () => [String(account.customerId), '/audit-logs?resourceTypes=ADVERTISER'],
      lines: [{ total: 2 }],
      after: async ([line]) => {
        const answer = await account.api.get('/audit-logs?resourceTypes=ADVERTISER');
        expect(line).toEqual(answer.body.data);
      },
    },
    {
      words: () => [String(account.customerId), '/accounts/current/history?take=1'],
      lines: [{ events: [{ revision: 1 }] }],
    },
    { words: () => historyOf(''), lines: [{ name: 'Acme' }] },
    {
      words: () => [String(account.customerId), '/advertisers?status=ALL&take=1'],
      lines: [{ items: [{ name: 'Acme' }], pagination: { skip: 0, take: 1 } }],
      after: async ([line]) => {
        const answer = await account.api.get('/advertisers?status=ALL&take=1');
        expect(line).toEqual({ items: answer.body.data, pagination: answer.body.meta.pagination });
      },
    },
    {
      words: () => [String(account.customerId), '/advertisers?asOf=2020-01-01T00:00:00.000Z'],
      lines: [{ items: [], pagination: { total: 0 } }],
    },
    // The API has its history, and its detail as the current state.
    {
      words: () => [String(account.customerId), `/creatives/${word('creative')}`],
      lines: [{ creativeId: text }],
      after: async ([line]) => {
        expect(line).toEqual((await account.api.get(`/creatives/${word('creative')}/detail`)).body.data);
      },
    },
    { words: () => ['987654321', '/audit-logs'], status: 1, lines: [] },
    { words: () => historyOf('/history?asOf=1'), status: 2, lines: [] },
    { words: () => historyOf('%zz/history'), status: 2, lines: [] },
    // A request of another account, and an unknown one, as over the API.
    { words: () => [word('customer'), `${advertiserPath()}/history`], status: 1, lines: [] },
    { words: () => historyOf('/histories'), status: 2, lines: [] },
    { words: () => historyOf('/diff?from=yesterday'), status: 2, lines: [] },
    { words: () => ['x', '/audit-logs'], status: 2, lines: [] },
  ],
  'users create': [
    {
      words: () => [word('customer'), '--name', 'Mo', '--role', 'member'],
      lines: [{ userId: text, role: 'member' }],
    },
  ],
  'users invite': [
    {
      words: () => [word('customer'), '--email', 'invited@example.com', '--role', 'admin'],
      lines: [
        {
          email: 'invited@example.com',
          role: 'admin',
          status: 'OPEN',
          link: expect.stringMatching(/\/console\/invitation#token=[\w-]{43}$/),
        },
      ],
      after: async ([line]) => {
        const accepted = await post('/auth/invitations/accept', {
          token: tokenIn(line),
          name: 'Jo',
          password: PASSWORD,
        });
        expect([accepted.status, await accepted.json()]).toMatchObject([201, { data: { userId: text } }]);
        // The command of another process reads what is there, and does not wait for events.
        await until(async () => {
          const sql = `select from user_addresses where email_key = 'invited@example.com'`;
          return (await service.pool.query(sql)).rowCount === 1;
        });
      },
    },
    { words: () => [word('customer'), '--email', 'x', '--role', 'admin'], status: 2, lines: [] },
    // The address of a member.
    {
      words: () => [word('customer'), '--email', 'Invited@example.com', '--role', 'admin'],
      status: 1,
      lines: [],
    },
  ],
  'users link': [
    {
      words: () => [word('customer'), `${word('customer')}-1`],
      lines: [{ link: expect.stringMatching(/\/console\/set-up#token=[\w-]{43}$/), expiresAt: text }],
      after: async ([line]) => {
        const body = { token: tokenIn(line), email: 'first@example.com', password: PASSWORD };
        expect((await post('/auth/set-up', body)).status).toBe(201);
      },
    },
    { words: () => [word('customer'), 'nobody'], status: 1, lines: [] },
  ],
  'users disable-totp': [
    {
      words: () => [word('customer'), `${word('customer')}-1`],
      lines: [{ totp: { enabled: false } }],
    },
    { words: () => [word('customer'), 'nobody'], status: 1, lines: [] },
  ],
  'users set-role': [
    {
      words: () => [word('customer'), `${word('customer')}-2`, '--role', 'admin'],
      lines: [{ userId: text, role: 'admin' }],
    },
    { words: () => [word('customer'), 'nobody', '--role', 'admin'], status: 1, lines: [] },
    { words: () => [word('customer'), 'nobody', '--role', 'owner'], status: 2, lines: [] },
  ],
  'users remove': [
    {
      words: () => [word('customer'), `${word('customer')}-2`],
      lines: [{ userId: text, status: 'REMOVED' }],
    },
    { words: () => [word('customer'), `${word('customer')}-2`], status: 1, lines: [] },
  ],
  'users list': [
    {
      words: () => [word('customer')],
      lines: [
        { role: 'admin', name: 'Jo', email: 'invited@example.com', lastSignInAt: text },
        { role: 'admin', name: 'Administrator', email: 'first@example.com' },
      ],
    },
  ],
  'keys create': [
    {
      words: () => [word('customer'), '--name', 'More', '--scopes', 'read'],
      lines: [{ id: text, key, scopes: ['exchange:read'] }],
      after: ([line]) => (known.key = String(line?.['id'])),
    },
  ],
  'keys revoke': [
    { words: () => [word('customer'), word('key')], lines: [{ id: text, status: 'REVOKED' }] },
    { words: () => [word('customer'), 'unknown'], status: 1, lines: [] },
  ],
  'oauth clients add': [
    {
      words: () => ['--name', 'Planner', '--redirect-uri', 'https://planner.example.com/callback'],
      lines: [{ clientId: text, name: 'Planner', redirectUris: ['https://planner.example.com/callback'] }],
      after: ([line]) => (known.client = String(line?.['clientId'])),
    },
    {
      words: () => ['--name', 'Planner', '--redirect-uri', 'http://planner.example.com'],
      status: 2,
      lines: [],
    },
  ],
  'oauth clients list': [{ lines: [{ clientId: text, registeredBy: 'operator' }] }],
  'oauth clients remove': [
    { words: () => [word('client')], lines: [{ clientId: text, revoked: 0 }] },
    { words: () => ['unknown'], status: 1, lines: [] },
  ],
  'keys list': [
    {
      words: () => [word('customer')],
      lines: [{ status: 'REVOKED' }, { status: 'ACTIVE', maskedKey: text }],
    },
  ],
  'accounts disable': [
    { words: () => [word('customer')], lines: [{ customerId: count, status: 'DISABLED' }] },
  ],
  'accounts enable': [{ words: () => [word('customer')], lines: [{ customerId: count, status: 'ENABLED' }] }],
  'accounts list': [
    { lines: [{ status: 'ENABLED' }, { status: 'ENABLED', users: [{}, { role: 'admin' }] }] },
  ],
  'sellers add': [
    {
      words: () => ['--name', 'News', '--channels', 'display'],
      lines: [{ sellerId: 1001, channels: ['display'] }],
    },
  ],
  'sellers change': [
    { words: () => ['1001', '--name', 'Papers'], lines: [{ sellerId: 1001, name: 'Papers' }] },
  ],
  'sellers retire': [{ words: () => ['1001'], lines: [{ sellerId: 1001, retired: true }] }],
  'sellers reopen': [{ words: () => ['1001'], lines: [{ sellerId: 1001, retired: false }] }],
  'sellers connect': [
    {
      words: () => ['1001', '--agent-url', 'https://ads.example.com/mcp'],
      lines: [{ sellerId: 1001, name: 'Papers' }],
    },
  ],
  'sellers disconnect': [{ words: () => ['1001'], lines: [{ sellerId: 1001, name: 'Papers' }] }],
  'sellers list': [{ lines: [{ sellerId: 1, retired: false }], isLonger: true }],
  'creatives review': [
    {
      words: () => [
        String(account.customerId),
        word('creative'),
        '1',
        '--status',
        'rejected',
        '--reason',
        'Loud',
      ],
      lines: [{ status: 'rejected', seller: { sellerId: 1 } }],
    },
  ],
  'parked list': [
    { lines: [] },
    {
      before: park,
      lines: ['advertisers', 'notifications'].map((projection) => ({
        projection,
        stream: text,
        eventType: 'FromTheFuture',
        error: text,
      })),
    },
  ],
  'parked retry': [
    {
      words: () => ['advertisers', word('stream')],
      status: 1,
      lines: [{ outcome: 'parked', parked: { error: text, attempts: count } }],
    },
    { words: () => ['advertisers', 'advertiser-9-9'], lines: [{ outcome: 'not-parked' }] },
    { words: () => ['advertisers'], status: 1, lines: [{ applied: 0, parked: 1 }] },
    { words: () => ['agents'], lines: [{ projection: 'agents', applied: 0, parked: 0 }] },
    { words: () => ['nothing', 'advertiser-1-1'], status: 2, lines: [] },
  ],
  'read-models status': [
    {
      words: () => ['advertisers'],
      status: 1,
      lines: [{ readModel: 'advertisers', led: true, parkedStreams: 1, problems: ['parked'] }],
    },
    { before: unpark, words: () => ['agents'], lines: [{ readModel: 'agents', led: true, problems: [] }] },
  ],
  'read-models rebuild': [
    {
      words: () => ['agents', 'sellers'],
      lines: [{ readModel: 'agents', switched: true }, { readModel: 'sellers' }],
    },
    { words: () => ['agents', '--cancel'], lines: [{ readModel: 'agents', dropped: false }] },
    { words: () => ['agents', '--offline'], status: 2, lines: [] },
    { words: () => ['credentials'], status: 2, lines: [] },
  ],
  'read-models verify': [
    { words: () => ['agents'], lines: [{ readModel: 'agents', differences: 0, tables: [{}, {}] }] },
  ],
  'log seal': [{ lines: [{ sealed: count, checkpoint: { position: text, hash: text, key: '2026' } }] }],
  'log keys': [{ lines: [{ id: '2026', publicKey: expect.not.stringContaining(SEED) }] }],
  migrate: [{ lines: [{ version }] }],
  'log verify': [
    { lines: [{ broken: null, witnessed: false, signed: 1, events: count }] },
    { words: () => ['--expect', 'x'], status: 2, lines: [] },
    { more: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }, status: 2, lines: [] },
  ],
  'secrets re-encrypt': [
    {
      more: { SECRET_KEYS: `zest:${NEW_KEY}` },
      status: 1,
      lines: [{ encrypted: 0, unreadable: [{ keyId: 'test', secrets: count, problem: 'there is no key' }] }],
    },
    {
      more: { SECRET_KEYS: `zest:${NEW_KEY},test:${OLD_KEY}` },
      lines: [{ withKey: 'zest', unneeded: ['test'], unreadable: [], needed: { zest: count } }],
    },
  ],
  forget: [
    {
      words: () => ['--account', String(account.customerId), '--subject', subject],
      lines: [{ forgettingId: text, places: count, members: 1, inClear: 0 }],
    },
    { words: () => ['--account', 'x'], status: 2, lines: [] },
  ],
  config: [
    {
      lines: [
        { name: 'NODE_ENV', default: 'development' },
        { name: 'PORT', default: 3000 },
      ],
      isLonger: true,
    },
  ],
  help: [
    { words: () => ['log', 'seal'], lines: [{ command: 'log seal', places: [], statuses: { 2: text } }] },
    { lines: [{ command: 'accounts create', options: { seller: { type: 'string' } } }], isLonger: true },
    { words: () => ['dance'], status: 2, lines: [] },
  ],
  'events copy': [
    { words: () => ['--from', service.databaseUrl, '--to', service.databaseUrl], status: 2, lines: [] },
  ],
  doctor: [
    {
      more: { LOG_SIGNING_KEYS: '' },
      status: 1,
      lines: [
        { check: 'settings', state: 'ok' },
        { check: 'disk', state: 'ok' },
        { check: 'asset store', state: 'ok' },
        { check: 'database', state: 'ok' },
        { check: 'clocks', state: 'ok' },
        { check: 'event store', state: 'ok' },
        { check: 'processes', state: 'ok' },
        { check: 'read models', state: 'ok' },
        { check: 'parked streams', state: 'ok' },
        // The chain was signed with a key that these settings do not contain.
        { check: 'seals', state: 'problem', advice: text },
        { check: 'work list', state: 'ok' },
      ],
    },
    {
      more: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
      status: 1,
      lines: [
        { check: 'settings' },
        { check: 'disk' },
        { check: 'asset store' },
        { check: 'database', state: 'problem', advice: text },
      ],
      isLonger: true,
    },
    { more: { PORT: 'x' }, status: 1, lines: [{ check: 'settings', state: 'problem', advice: text }] },
  ],
};

const stopped: typeof served = {
  'backup restore': [{ words: () => [backupFolder()], status: 1, lines: [] }],
  'backup drill': [{ words: () => [join(service.dataDir, 'none')], status: 2, lines: [] }],
  'backup move': [
    { words: () => ['--from', service.dataDir], more: { DATABASE_URL: '' }, status: 2, lines: [] },
  ],
  'read-models status': [
    {
      before: () => service.end(),
      words: () => ['agents'],
      status: 1,
      lines: [{ readModel: 'agents', led: false, problems: ['not-run'] }],
    },
  ],
  'read-models rebuild': [
    {
      words: () => ['--offline', '--allow-parked'],
      lines: [{ readModels: expect.arrayContaining(['credentials']), parkedStreams: 2 }],
    },
  ],
  ...(isPostgres && {
    'events copy': [
      {
        words: () => [...copied(), '--no-rebuild'],
        lines: [
          { step: 'copied', events: count, earlier: 0 },
          { step: 'verified', same: true, differences: [] },
        ],
      },
    ],
    'events verify': [
      { words: copied, lines: [{ same: true, source: { events: count }, target: { streams: count } }] },
      {
        before: async () => {
          const { store, close } = openPostgresStore(elsewhere.url);
          await store.append('sample-too-much', [sampleEvent()], 'no-stream');
          await close();
        },
        words: copied,
        status: 1,
        lines: [{ same: false, differences: [{ stream: 'sample-too-much', problem: 'only in the target' }] }],
      },
      {
        words: () => ['--from', 'postgres://nobody@127.0.0.1:1/none', '--to', elsewhere.url],
        status: 2,
        lines: [],
      },
    ],
  }),
};

const examplesOf = (table: typeof served) =>
  Object.entries(table).flatMap(([command, examples]) =>
    examples.map((example, n) => [command, n + 1, example] as const),
  );

const runExample = async (command: string, example: Example): Promise<void> => {
  await example.before?.();
  const words = [...command.split(' '), ...(example.words?.() ?? []), '--json'];
  const { status, stdout, stderr } = await run(words, example.more);
  const lines = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const printed = example.isLonger === true ? lines.slice(0, example.lines.length) : lines;
  expect({ status: status === (example.status ?? 0) ? status : stderr, printed }).toMatchObject({
    status: example.status ?? 0,
    printed: example.lines,
  });
  if (status === 2) expect(stderr).not.toBe('');
  for (const secret of [TOKEN, SEED, OLD_KEY, NEW_KEY]) expect(stdout + stderr).not.toContain(secret);
  await example.after?.(lines);
};

describe('while the service runs', () => {
  it.each(examplesOf(served))(
    '%s --json (%i)',
    (command, _, example) => runExample(command, example),
    60_000,
  );

  it('history supports every API path with a parameter asOf', async () => {
    const document = (await (await fetch(`${service.baseUrl}/openapi.json`)).json()) as {
      readonly paths: Readonly<
        Record<string, { readonly get?: { readonly parameters?: { name: string }[] } }>
      >;
    };
    const paths = Object.entries(document.paths)
      .filter(([, { get }]) => get?.parameters?.some(({ name }) => name === 'asOf'))
      .map(([path]) => path.replace('/api/v2/buyer', '').replaceAll(/\{[^}]*\}/g, '1'));
    expect(paths.length).toBeGreaterThan(20);
    const unknown: string[] = [];
    for (const path of paths) {
      const { stderr } = await run(['history', String(account.customerId), path]);
      if (stderr.includes('is not a history path')) unknown.push(path);
    }
    expect(unknown).toEqual([]);
  });

  it('status shows a running copy with its process, an abandoned copy, and a table of all read models', async () => {
    const ending = new AbortController();
    const options = rebuildOptions(service, { signal: ending.signal });
    // The rebuild fails after its copy is complete, so the copy stays.
    let asked = 0;
    const head = () => ((asked += 1) > 1 ? Promise.reject(new Error('unavailable')) : service.store.head());
    const rebuilding = rebuildOnline(
      { ...options, store: { ...service.store, head } },
      advertisersProjection,
    );
    await expect(rebuilding).rejects.toThrow('unavailable');
    const status = async () =>
      JSON.parse((await run(['read-models', 'status', 'advertisers', '--json'])).stdout);
    const abandoned = (await status()) as object;
    expect(abandoned).toMatchObject({ copy: { fraction: 1, begunAt: text } });
    expect(abandoned).not.toMatchObject({ copy: { heldBy: expect.anything() } });
    const guard = await connectCopy(service.databaseUrl);
    try {
      await holdCopy(guard, 'advertisers');
      expect(await status()).toMatchObject({
        copy: {
          fraction: 1,
          heldBy: { process: expect.stringMatching(new RegExp(`process ${process.pid}$`)) },
        },
      });
    } finally {
      await guard.end();
    }
    await run(['read-models', 'rebuild', 'advertisers', '--cancel']);
    const all = await run(['read-models', 'status']);
    expect(all.stdout).toMatch(/^the log ends at \S+\nread model +at +epoch +behind +run +parked +copy\n/);
    expect(all.stdout).toMatch(/^advertisers +\S+ +\d+ +0 (events|bytes) +yes +0 +-$/m);
  });
});

describe('with the service stopped', () => {
  it.each(examplesOf(stopped))(
    '%s --json (%i)',
    (command, _, example) => runExample(command, example),
    60_000,
  );
});

it('every command has an example, and refuses unknown options and arguments', async () => {
  const examples = new Set([
    ...Object.keys(served),
    ...Object.keys(stopped),
    ...(isPostgres ? [] : ['events verify']),
  ]);
  const commands = await allCommands();
  expect([...examples].toSorted()).toEqual(commands.map(({ command }) => command).toSorted());
  const { stdout: all } = await run(['help']);
  for (const { command, places, more, about } of commands) {
    const words = command.split(' ');
    const [help, other, extra] = [
      await run([...words, '--help']),
      await run([...words, '--dance']),
      more === undefined ? await run([...words, ...places, 'extra']) : undefined,
    ];
    expect([command, help.status, help.stderr]).toEqual([command, 0, '']);
    expect(help.stdout).toEqual((await run(['help', ...words])).stdout);
    for (const part of [command, ...places, 'Exit status:\n  0: ', '1: ', '2: '])
      expect(help.stdout).toContain(part);
    expect(help.stdout.replaceAll(/\s+/g, ' ')).toContain(about);
    // A long list of verbs is cut there; the help of the group has them all.
    const ofGroup = (await run(['help', ...words.slice(0, -1)])).stdout;
    expect(all).toMatch(new RegExp(`^  ${words[0]}\\b`, 'm'));
    expect(ofGroup).toMatch(new RegExp(`^  ${words.at(-1)}\\b`, 'm'));
    expect([command, other.status, other.stdout, other.stderr]).toEqual([
      command,
      2,
      '',
      expect.stringMatching(/^error: (unknown option '--dance'|required option '--)/),
    ]);
    if (extra !== undefined) expect([command, extra.status]).toEqual([command, 2]);
  }
  expect(all).not.toMatch(/^.{121}/m);
});

it('a misspelt command is refused with a suggestion', async () => {
  for (const [words, meant] of [
    [['acounts', 'create'], 'accounts'],
    [['accounts', 'creat'], 'create'],
    [['log', 'seal', '--adpt'], '--adopt'],
  ] as const) {
    const { status, stderr } = await run(words);
    expect([status, stderr]).toEqual([2, expect.stringContaining(`(Did you mean ${meant}?)`)]);
  }
});
