import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request, type ClientRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findOverdueReservations } from '../../app/lookups/overdue.ts';
import { expiredRows } from '../../projections/expired-rows.ts';
import { createOrphanedObjects, createOverdueReservations } from '../../command/assets/sweep-assets.ts';
import type { Installation } from '../../app/installation.ts';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { AssetResource } from '../../domain/assets/resource.ts';
import { createAccount } from '../../app/create-account.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { readConfig } from '../../app/config.ts';
import { openObjectStore } from '../../shared/storage/open-object-store.ts';
import type { ObjectStore } from '../../shared/storage/object-store.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { amount } from '../support/amount.ts';
import { apiOf, type Api } from '../support/api-client.ts';
import { png } from '../support/sample-media.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { reserve, send, storedFiles, type Reservation } from '../support/uploads.ts';
import { startSupervisor, type Supervisor } from './kit/supervisor.ts';

/**
 * Uploads during a crash, and many large concurrent ones. `api/broken-uploads` tests interrupted and invalid uploads.
 */

const CRASHED = amount(3, 100);
/** A few uploads sometimes meet no crash. */
const CRASHES_MIN = amount(0, 1);
const PARALLEL = amount(8, 100);
const GROWTH_MB_MAX = 64;
const LARGE_BYTES = 10_000_000;

const points = [
  'upload-before-keep',
  'upload-after-keep',
  'upload-after-event',
  'before-append',
  'after-append',
];

let database: TestDatabase;
let dataDir: string;
let supervisor: Supervisor;
let installation: Installation;
let objects: ObjectStore;
let baseUrl: string;
let api: Api;
let advertiser: number;
let isCalm = false;

beforeAll(async () => {
  database = await createTestDatabase();
  dataDir = await mkdtemp(join(tmpdir(), 'uploads-'));
  const settings = { DATABASE_URL: database.url, DATA_DIR: dataDir };
  supervisor = await startSupervisor(1, {
    ...settings,
    SECRET_KEYS: `test:${'A'.repeat(43)}`,
    EXCHANGE_FAILPOINTS: [...points, 'before-reply'].map((point) => `${point}:0.1`).join(','),
  });
  await supervisor.ready();
  installation = await openWithLongTimeouts(readConfig(settings), 'uploads');
  objects = await openObjectStore(undefined, dataDir);
  const { apiKey } = await createAccount(installation, 'Uploads');
  baseUrl = `http://127.0.0.1:${supervisor.ports[0]}`;
  api = apiOf(baseUrl, { Authorization: `Bearer ${apiKey}` });
  advertiser = await newAdvertiser();
});
afterAll(async () => {
  await supervisor.stop();
  await installation.close();
  await database.drop();
  await rm(dataDir, { recursive: true, force: true });
});

const newAdvertiser = async (): Promise<number> => {
  const key = { 'Idempotency-Key': `advertiser-${randomBytes(8).toString('hex')}` };
  const { body } = await untilAnswered(() =>
    api.post<AdvertiserResource>('/advertisers', { name: 'Acme' }, key),
  );
  return body.data.id;
};

/** Repeats until an answer shows the outcome; a crash gives no answer. */
const untilAnswered = async <T extends { readonly status: number }>(ask: () => Promise<T>): Promise<T> => {
  for (let tries = 0; tries < 600; tries += 1) {
    const answer = await ask().catch(() => undefined);
    if (answer !== undefined && answer.status < 500 && answer.status !== 409) return answer;
    await sleep(50);
  }
  throw new Error('never answered');
};

const reserveKeyed = async (n: number | string, body = {}): Promise<Reservation> => {
  const key = { 'Idempotency-Key': `reservation-number-${String(n).replaceAll(' ', '-')}` };
  const asked = { name: `Number ${n}`, mimeType: 'image/png', ...body };
  return (await untilAnswered(() => reserve(api, advertiser, asked, key))).body.data;
};

const library = async (): Promise<readonly AssetResource[]> => {
  const assets: AssetResource[] = [];
  for (let skip = 0; ; skip += 200) {
    const { body } = await untilAnswered(() =>
      api.get<AssetResource[]>(`/advertisers/${advertiser}/assets?take=200&skip=${skip}`),
    );
    assets.push(...body.data);
    if (!body.meta.pagination.hasMore) return assets;
  }
};

/** From here on the process does not crash, also if this test runs alone. */
const calmDown = async (): Promise<void> => {
  if (isCalm) return;
  isCalm = true;
  supervisor.calm();
  supervisor.kill(0);
  await sleep(100);
  await supervisor.ready();
};

/** Runs the sweeps with their time limits passed. */
const sweep = async (): Promise<{ readonly drafts: number; readonly unsettled: number }> => {
  const { rowCount } = await installation.pool.query(
    `update asset_objects set begun_at = begun_at - interval '25 hours'`,
  );
  await createOrphanedObjects({ ...installation, clock: systemClock, objects }).purge(10_000);
  return { drafts: await objects.sweep(0), unsettled: rowCount ?? 0 };
};

/** The statuses of remaining rows after all reservations have expired. */
const statusesOnceOver = async (): Promise<readonly string[]> => {
  const writes = { ...installation, clock: systemClock, objects };
  await library();
  await installation.pool.query(
    `update assets set expires_at = now() - interval '8 days' where status = 'RESERVED'`,
  );
  await createOverdueReservations(writes, findOverdueReservations(installation.pool)).purge(10_000);
  await library();
  await expiredRows(installation.pool)['assets that are gone'].purge(10_000);
  const { rows } = await installation.pool.query<{ status: string }>('select distinct status from assets');
  return rows.map(({ status }) => status);
};

describe('uploads', () => {
  it('produce one asset each, wherever the process dies', async () => {
    const bytes = Array.from({ length: CRASHED }, (_, n) => png(1 + n, 7, 20_000));
    for (const [n, one] of bytes.entries()) {
      const { uploadUrl } = await reserveKeyed(n);
      const answer = await untilAnswered(() => send(local(uploadUrl), one));
      expect([n, answer.status]).toEqual([n, 200]);
    }
    const { crashes } = supervisor;
    await calmDown();
    const left = await storedFiles(dataDir);
    const swept = await sweep();
    const assets = await library();
    expect(assets.map(({ name }) => name).sort()).toEqual(bytes.map((_, n) => `Number ${n}`).sort());
    for (const { name, url, width } of assets) {
      const sent = bytes[Number(name.slice(7))] ?? Buffer.alloc(0);
      const served = Buffer.from(await (await fetch(local(url))).arrayBuffer());
      expect([name, width, served.equals(sent)]).toEqual([name, Number(name.slice(7)) + 1, true]);
    }
    const files = await storedFiles(dataDir);
    expect([files.drafts, files.objects.length]).toEqual([[], assets.length]);
    expect((await sweep()).unsettled).toBe(0);
    console.log(
      `${CRASHED} uploads, ${crashes} crashes: ${assets.length} assets; remaining ${left.drafts.length} drafts and ` +
        `${left.objects.length - assets.length} objects, swept ${swept.drafts} drafts, settled ${swept.unsettled} objects`,
    );
    expect(await statusesOnceOver()).toEqual(['READY']);
    expect(crashes).toBeGreaterThanOrEqual(CRASHES_MIN);
  }, 900_000);

  it(`of 10 MB, ${PARALLEL} concurrently, take no more than ${GROWTH_MB_MAX} MB of memory`, async () => {
    await calmDown();
    const bytes = png(3, 3, LARGE_BYTES);
    const reservations: Reservation[] = [];
    for (let n = 0; n < PARALLEL + 4; n += 1) reservations.push(await reserveKeyed(`large-${n}`));
    const sendAll = (some: readonly Reservation[]) =>
      Promise.all(some.map(({ uploadUrl }) => put(uploadUrl, bytes)));
    // Creates pools, buffers and compiled code before the measurement.
    await sendAll(reservations.slice(0, 4));
    const before = await residentMb();
    let highest = before;
    let isOver = false;
    const watch = (async () => {
      while (!isOver) {
        highest = Math.max(highest, await residentMb());
        await sleep(10);
      }
    })();
    const startedAt = performance.now();
    const statuses = await sendAll(reservations.slice(4));
    const seconds = (performance.now() - startedAt) / 1_000;
    isOver = true;
    await watch;
    expect(new Set(statuses)).toEqual(new Set([200]));
    const growth = highest - before;
    console.log(
      `${PARALLEL} concurrent uploads of ${LARGE_BYTES / 1e6} MB in ${seconds.toFixed(1)} s: ${before.toFixed(0)} MB resident before, ` +
        `at most ${highest.toFixed(0)} MB, ${growth.toFixed(0)} MB more`,
    );
    expect(growth).toBeLessThan(GROWTH_MB_MAX);
    const sum = createHash('sha256').update(bytes).digest('hex');
    const [newest] = await library();
    const served = Buffer.from(await (await fetch(local(newest?.url ?? ''))).arrayBuffer());
    expect(createHash('sha256').update(served).digest('hex')).toBe(sum);
  }, 180_000);
});

/** After a restart, the service's addresses still contain its first port. */
const local = (url: string): string => `${baseUrl}${new URL(url).pathname}${new URL(url).search}`;

const open = (url: string, length: number | undefined): ClientRequest => {
  const headers = {
    'Content-Type': 'application/octet-stream',
    ...(length === undefined ? {} : { 'Content-Length': length }),
  };
  const client = request(local(url), { method: 'PUT', headers });
  client.on('error', () => undefined);
  return client;
};

const put = (url: string, bytes: Buffer): Promise<number> =>
  new Promise((resolve, reject) => {
    const client = open(url, bytes.length);
    client.on('error', reject);
    client.on('response', (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    client.end(bytes);
  });

const residentMb = async (): Promise<number> => {
  const status = await readFile(`/proc/${supervisor.pids[0]}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024;
};
