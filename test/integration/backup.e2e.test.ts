import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { appendFile, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { AssetResource } from '../../domain/assets/resource.ts';
import { apiOf } from '../support/api-client.ts';
import { startEventStoreProcess } from '../support/eventstoredb/event-store-process.ts';
import { generousLimits } from '../support/generous-limits.ts';
import { exchange, startProgram, type ProcessResult } from '../support/program.ts';
import { createOwnedDatabase, createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { startS3Service } from '../support/s3-service.ts';
import { until } from '../support/until.ts';
import { upload } from '../support/uploads.ts';

const BYTES = Buffer.from('the bytes of an asset '.repeat(500));
const SECRET_KEYS = `2026:${'A'.repeat(43)}`;

interface Ids {
  readonly apiKey: string;
  readonly advertiser: number;
  readonly asset: string;
}

let folder: string;
let ids: Ids;
/** An embedded installation with an account, an agent with a token, and an asset. It is stopped. */
let embedded: Readonly<Record<string, string>>;
let backup: string;
const databases: TestDatabase[] = [];
const database = async (): Promise<string> => {
  const made = await createTestDatabase();
  databases.push(made);
  return made.url;
};

/** Our stand-in, or the store of others that `npm run test:containers` names. @returns the address of an empty place */
const s3Place = async (): Promise<{ readonly url: URL; readonly stop: () => Promise<void> }> => {
  const others = process.env['TEST_S3_URL'];
  const s3 = others === undefined ? await startS3Service() : { url: others, stop: async () => undefined };
  const url = new URL(s3.url);
  url.pathname = `/backup-${randomUUID()}`;
  return { url, stop: () => s3.stop() };
};

const common = {
  NODE_ENV: 'test',
  LOG_LEVEL: 'info',
  PORT: '0',
  LOG_SEAL_SECONDS: '1',
  AGENT_CHECK_MS: '0',
  ...generousLimits,
};

/** Runs a service of these settings while `work` calls it. */
const served = async <T>(
  settings: Readonly<Record<string, string>>,
  work: (baseUrl: string) => Promise<T>,
): Promise<T> => {
  const program = startProgram({ ...common, ...settings });
  try {
    const [, baseUrl = ''] = await program.until(/"baseUrl":"([^"]+)"/);
    await until(async () => (await fetch(`${baseUrl}/ready`)).status === 200);
    return await work(baseUrl);
  } finally {
    expect(await program.end('SIGTERM')).toBe(0);
  }
};

const fill = async (baseUrl: string, apiKey: string): Promise<Ids> => {
  const api = apiOf(baseUrl, { Authorization: `Bearer ${apiKey}` });
  const { body } = await api.post<AdvertiserResource>('/advertisers', { name: 'Moved' });
  const agent = {
    name: 'Agent',
    protocol: 'MCP',
    url: 'https://agent.example.com/mcp',
    auth: { type: 'bearer', token: 'token-of-an-agent' },
  };
  const registered = await api.post('/adcp-agents', agent);
  expect(registered.status).toBe(201);
  const { assetId } = await upload(api, body.data.id, { name: 'Asset', mimeType: 'text/plain' }, BYTES);
  return { apiKey, advertiser: body.data.id, asset: assetId };
};

/** The account's key works, and the advertiser and the bytes of the asset are there. */
const expectEverything = async (baseUrl: string): Promise<void> => {
  const api = apiOf(baseUrl, { Authorization: `Bearer ${ids.apiKey}` });
  const { status, body } = await api.get<AdvertiserResource>(`/advertisers/${ids.advertiser}`);
  expect([status, body.data.name]).toEqual([200, 'Moved']);
  const asset = await api.get<AssetResource>(`/advertisers/${ids.advertiser}/assets/${ids.asset}`);
  expect(asset.status).toBe(200);
  const bytes = await fetch(baseUrl + new URL(asset.body.data.url).pathname);
  expect([bytes.status, Buffer.from(await bytes.arrayBuffer()).equals(BYTES)]).toEqual([200, true]);
  expect((await api.post('/advertisers', { name: 'After' })).status).toBe(201);
};

const run = (words: string, settings: Readonly<Record<string, string>>): Promise<ProcessResult> =>
  exchange(words.split(' '), { NODE_ENV: 'test', ...settings });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exchange-backup-'));
  embedded = { DATA_DIR: join(folder, 'embedded') };
  ids = await served(embedded, async (baseUrl) => {
    const { stdout } = await run('accounts create --name Moved --json', embedded);
    const { apiKey } = JSON.parse(stdout) as { apiKey: string };
    const filled = await fill(baseUrl, apiKey);
    backup = join(folder, 'backup');
    const made = await run(`backup create ${backup} --with-keys`, embedded);
    expect([made.status, made.stdout]).toEqual([
      0,
      expect.stringMatching(/ 1 assets; its secrets need the keys 0-/),
    ]);
    return filled;
  });
}, 120_000);
afterAll(async () => {
  for (const one of databases) await one.drop();
  await rm(folder, { recursive: true, force: true });
});

describe('exchange backup move', () => {
  it('moves an embedded installation to Postgres, EventStoreDB and S3: events, secrets and assets', async () => {
    const [events, s3] = await Promise.all([startEventStoreProcess(), s3Place()]);
    const settings = {
      ASSET_STORE_URL: s3.url.href,
      DATA_DIR: join(folder, 'moved'),
      DATABASE_URL: await database(),
      EVENTSTORE_URL: events.url,
      SECRET_KEYS,
    };
    const from = embedded['DATA_DIR'] ?? '';
    try {
      const refused = await run(`backup move --from ${from}`, settings);
      expect([refused.status, refused.stderr]).toEqual([
        1,
        expect.stringContaining('SECRET_KEYS lacks the keys 0-'),
      ]);
      const { keys } = JSON.parse(await readFile(join(from, 'secret-keys.json'), 'utf8')) as { keys: string };
      const complete = { ...settings, SECRET_KEYS: `${SECRET_KEYS},${keys}` };
      const moved = await run(`backup move --from ${from}`, complete);
      expect([moved.status, moved.stderr]).toEqual([0, expect.stringContaining('log seal --new-chain')]);
      expect(moved.stdout).toMatch(/restored and verified: \d+ events, [1-9]\d* secrets, 1 assets/);
      const source = await run(`events verify --from ${settings.DATABASE_URL} --to ${events.url}`, complete);
      expect(source.stdout).toContain('0 differences');
      await served(complete, expectEverything);
      const again = await run(`backup move --from ${from}`, complete);
      expect([again.status, again.stderr]).toEqual([1, expect.stringContaining('is not empty')]);
    } finally {
      await Promise.all([events.stop(), s3.stop()]);
    }
  }, 120_000);

  it('is refused without a database to move to', async () => {
    const { status, stderr } = await run(`backup move --from ${folder}`, { DATA_DIR: join(folder, 'other') });
    expect([status, stderr]).toEqual([2, expect.stringContaining('DATABASE_URL is not set')]);
  });
});

describe('exchange backup', () => {
  it('of EventStoreDB is restored to Postgres', async () => {
    const events = await startEventStoreProcess();
    const settings = {
      DATA_DIR: join(folder, 'esdb'),
      DATABASE_URL: await database(),
      EVENTSTORE_URL: events.url,
    };
    const again = { DATA_DIR: join(folder, 'esdb-restored'), DATABASE_URL: await database() };
    try {
      expect((await run(`backup restore ${backup}`, settings)).status).toBe(0);
      const made = await run(`backup create ${join(folder, 'of-esdb')} --with-keys`, settings);
      expect(made.status).toBe(0);
      const restored = await run(`backup restore ${join(folder, 'of-esdb')}`, again);
      expect([restored.status, restored.stdout]).toEqual([0, expect.stringContaining('rebuilt read models')]);
      await served(again, expectEverything);
    } finally {
      await events.stop();
    }
  }, 120_000);

  it('is restored into S3, which is complete only with every asset', async () => {
    const s3 = await s3Place();
    const elsewhere = new URL(s3.url);
    elsewhere.hostname = 'a-bucket-that-is-missing';
    const settings = { DATA_DIR: join(folder, 'into-s3'), DATABASE_URL: await database() };
    const restore = (url: URL): Promise<ProcessResult> =>
      run(`backup restore ${backup}`, { ...settings, ASSET_STORE_URL: url.href });
    try {
      const { status, stdout, stderr } = await restore(elsewhere);
      expect([status, stdout]).toEqual([1, expect.not.stringContaining('restored and verified')]);
      expect(stderr).toContain('the S3 bucket does not exist: create it, or correct ASSET_STORE_URL');
      const restored = await restore(s3.url);
      expect([restored.status, restored.stdout]).toEqual([0, expect.stringMatching(/ 1 assets$/m)]);
      await served({ ...settings, ASSET_STORE_URL: s3.url.href }, expectEverything);
      const made = await run(`backup create ${join(folder, 'of-s3')}`, {
        ...settings,
        ASSET_STORE_URL: s3.url.href,
      });
      expect([made.status, made.stdout]).toEqual([0, expect.stringContaining(' 1 assets;')]);
    } finally {
      await s3.stop();
    }
  }, 120_000);

  it('drill restores it, and verifies the log and the read models', async () => {
    const { status, stdout, stderr } = await run(`backup drill ${backup} --into ${await database()}`, {
      DATA_DIR: join(folder, 'unused'),
    });
    expect({ status, said: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, said: '' });
    expect(stdout).toMatch(/^restored and verified: \d+ events, [1-9]\d* secrets, 1 assets$/m);
    expect(stdout).toMatch(/: they match [1-9]\d* checkpoints of chain 1/);
    expect(stdout).toMatch(/^advertisers: [1-9]\d* rows, 0 differences at /m);
  }, 60_000);

  it('is restored to a database of an ordinary role, whose row policies are then forced on it', async () => {
    const owned = await createOwnedDatabase();
    databases.push(owned);
    const settings = { DATA_DIR: join(folder, 'owned'), DATABASE_URL: owned.url };
    const { status, stderr } = await run(`backup restore ${backup}`, settings);
    expect({ status, said: status === 0 ? '' : stderr }).toEqual({ status: 0, said: '' });
    const client = new Client({ connectionString: owned.url });
    await client.connect();
    const { rows } = await client.query(
      'select from pg_class where relrowsecurity and not relforcerowsecurity',
    );
    await client.end();
    expect(rows).toEqual([]);
    await served(settings, expectEverything);
  });

  it('is refused by stores that are not empty', async () => {
    const settings = { DATA_DIR: join(folder, 'full'), DATABASE_URL: await database() };
    expect((await run('accounts create --name Other', settings)).status).toBe(0);
    const { status, stderr } = await run(`backup restore ${backup}`, settings);
    expect(status).toBe(1);
    expect(stderr).toMatch(/SECRET_KEYS lacks the keys|is not empty/);
  });

  it('restores nothing if a file was changed, or is missing', async () => {
    const settings = { DATA_DIR: join(folder, 'changed'), DATABASE_URL: await database() };
    const events = join(backup, 'tables', 'events.copy');
    const whole = await readFile(events);
    try {
      await appendFile(events, 'x');
      const changed = await run(`backup restore ${backup}`, settings);
      expect([changed.status, changed.stderr]).toEqual([
        1,
        expect.stringContaining('was changed after the backup'),
      ]);
      await rename(events, `${events}.away`);
      const missing = await run(`backup restore ${backup}`, settings);
      expect([missing.status, missing.stderr]).toEqual([1, expect.stringContaining('is missing')]);
    } finally {
      await rename(`${events}.away`, events);
      await writeFile(events, whole);
    }
  });

  it('is not complete without the bytes of an asset', async () => {
    const settings = { DATA_DIR: join(folder, 'lost'), DATABASE_URL: await database() };
    expect((await run(`backup restore ${backup}`, settings)).status).toBe(0);
    await rm(join(folder, 'lost', 'assets'), { recursive: true });
    const target = join(folder, 'of-lost');
    const { status, stderr } = await run(`backup create ${target}`, settings);
    expect([status, stderr]).toEqual([1, expect.stringContaining('The bytes of 1 assets are missing')]);
    expect((await run(`backup restore ${target}`, settings)).stderr).toContain('contains no complete backup');
  });
});
