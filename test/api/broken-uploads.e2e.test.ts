import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { request, type ClientRequest } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findOverdueReservations } from '../../app/lookups/overdue.ts';
import { expiredRows } from '../../projections/expired-rows.ts';
import { createOrphanedObjects, createOverdueReservations } from '../../command/assets/sweep-assets.ts';
import { createUploadTokens, type UploadGrant } from '../../command/assets/upload-token.ts';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { assetIdOf, type AssetResource } from '../../domain/assets/resource.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { parseKeyRing } from '../../shared/secrets/key-ring.ts';
import type { ObjectStore } from '../../shared/storage/object-store.ts';
import { openObjectStore } from '../../shared/storage/open-object-store.ts';
import { parseS3Location } from '../../shared/storage/s3-location.ts';
import { amount } from '../support/amount.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { startS3Service, type S3Service } from '../support/s3-service.ts';
import { png } from '../support/sample-media.ts';
import { reserve, send, type Reservation } from '../support/uploads.ts';

/**
 * Uploads that are cut off, have wrong headers or are sent twice, to both kinds of store. They are never visible
 * and leave no files. `faults/uploads` tests crashes.
 */

/** Repetitions per kind: more than a hundred uploads in total, or a thousand in the long form. */
const BROKEN = amount(11, 100);

const bytes = png(9, 9, 60_000);
const sha256 = createHash('sha256').update(bytes).digest('hex');
const tokens = createUploadTokens(async () => parseKeyRing(`test:${'A'.repeat(43)}`));

describe.each(['a folder', 'S3'] as const)('broken uploads to %s', (kind) => {
  let s3: S3Service | undefined;
  let service: RunningService;
  let account: TestAccount;
  let objects: ObjectStore;
  let advertiser: number;
  beforeAll(async () => {
    s3 = kind === 'S3' ? await startS3Service() : undefined;
    service = await startRunningService(s3 === undefined ? {} : { ASSET_STORE_URL: s3.url });
    account = await service.openAccount();
    objects = await openObjectStore(s3 && parseS3Location(s3.url), service.dataDir);
    const { body } = await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' });
    advertiser = body.data.id;
  });
  afterAll(async () => {
    await service.stop();
    await s3?.stop();
  });

  const filesIn = async (...folders: readonly string[]): Promise<readonly string[]> => {
    const folder = join(service.dataDir, ...folders);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
    return entries.flatMap((entry) => (entry.isFile() ? [entry.name] : []));
  };
  /** Names of the objects in the store, and of drafts. */
  const storedFiles = async (): Promise<readonly string[]> =>
    s3 === undefined
      ? filesIn('assets', 'objects')
      : [...s3.objects.keys()].map((key) => key.split('/').at(-1) ?? '');
  const drafts = (): Promise<readonly string[]> =>
    s3 === undefined ? filesIn('assets', 'drafts') : filesIn('uploads');
  const untilNoDrafts = async (): Promise<void> => {
    for (let tries = 0; (await drafts()).length > 0; tries += 1) {
      if (tries > 500) throw new Error('drafts remain');
      await sleep(20);
    }
  };
  const library = async (): Promise<readonly AssetResource[]> => {
    const assets: AssetResource[] = [];
    for (let skip = 0; ; skip += 200) {
      const page = `/advertisers/${advertiser}/assets?take=200&skip=${skip}`;
      const { body } = await account.api.get<AssetResource[]>(page);
      assets.push(...body.data);
      if (!body.meta.pagination.hasMore) return assets;
    }
  };
  const reserved = async (more: object = {}): Promise<Reservation> =>
    (await reserve(account.api, advertiser, { name: 'Broken', mimeType: 'image/png', ...more })).body.data;
  const detailOf = async ({ assetId }: Reservation): Promise<number> =>
    (await account.api.get(`/advertisers/${advertiser}/assets/${assetId}`)).status;
  /** The public address that an upload in progress will get if it succeeds. */
  const addressOf = async ({ assetId }: Reservation): Promise<string> => {
    for (let tries = 0; tries < 500; tries += 1) {
      const { rows } = await service.pool.query<{ storage_key: string }>(
        'select storage_key from asset_objects where asset_id = $1',
        [assetIdOf(assetId)],
      );
      if (rows[0] !== undefined) return `${service.baseUrl}/assets/${rows[0].storage_key}`;
      await sleep(10);
    }
    throw new Error('the upload has no object yet');
  };

  const answerCounts: Record<string, number> = {};
  const countAnswer = (what: string, ...statuses: readonly number[]): void => {
    const line = `${what} ${statuses.toSorted((a, b) => a - b).join()}`;
    answerCounts[line] = (answerCounts[line] ?? 0) + 1;
  };

  /** None of them leaves an asset. */
  const broken: Readonly<Record<string, (reservation: Reservation, n: number) => Promise<void>>> = {
    'cut off': async (reservation, n) => {
      // Cut off before the first byte, in the middle or before the last byte. Every other upload has no
      // Content-Length.
      const sent = [0, 30_000, bytes.length - 1][n % 3];
      const client = open(reservation.uploadUrl, n % 2 === 0 ? bytes.length : undefined);
      client.flushHeaders();
      client.write(bytes.subarray(0, sent));
      const address = await addressOf(reservation);
      const seen = [(await fetch(address)).status, await detailOf(reservation)];
      client.destroy();
      countAnswer('cut off', ...seen);
      await untilNoDrafts();
      expect((await fetch(address)).status).toBe(404);
    },
    'too large': async ({ uploadUrl }, n) => {
      const more = Buffer.concat([bytes, Buffer.alloc(1 + n)]);
      countAnswer('too large', (await send(uploadUrl, n % 2 === 0 ? more : streamOf(more))).status);
    },
    'too short': async ({ uploadUrl }, n) => {
      const less = bytes.subarray(0, bytes.length - 1 - n);
      countAnswer('too short', (await send(uploadUrl, n % 2 === 0 ? less : streamOf(less))).status);
    },
    'tampered with': async ({ uploadUrl }, n) => {
      const { url, token } = partsOf(uploadUrl);
      // Changes every part of the token: its claims and its signature.
      const at = Math.floor((n / BROKEN) * token.length);
      const other = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);
      countAnswer('tampered with', (await send(`${url}?token=${other}`, bytes)).status);
    },
    'with a token of another': async ({ uploadUrl }) => {
      const other = partsOf((await reserved({ bytes: bytes.length })).uploadUrl);
      countAnswer(
        'with a token of another',
        (await send(`${partsOf(uploadUrl).url}?token=${other.token}`, bytes)).status,
      );
    },
    'too late': async ({ uploadUrl }, n) => {
      const { url, token } = partsOf(uploadUrl);
      const grant = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as UploadGrant;
      const expired = await tokens.issue({ ...grant, exp: Math.floor(Date.now() / 1_000) - n * n });
      countAnswer('too late', (await send(`${url}?token=${expired}`, bytes)).status);
    },
    'of other bytes': async (_, n) => {
      const { uploadUrl } = await reserved({ sha256 });
      countAnswer('of other bytes', (await send(uploadUrl, otherBytes(n))).status);
    },
    'of another type': async ({ uploadUrl }, n) => {
      const other = Buffer.from(bytes);
      other.write('<!doctype html>');
      countAnswer('of another type', (await send(uploadUrl, n % 2 === 0 ? other : streamOf(other))).status);
    },
  };

  /** Each leaves one asset, with the bytes of the first upload. */
  const repeated: Readonly<Record<string, (reservation: Reservation, n: number) => Promise<void>>> = {
    replayed: async ({ uploadUrl }, n) => {
      const first = await send(uploadUrl, bytes);
      const method = n % 2 === 0 ? 'PUT' : 'POST';
      const [again, other] = [
        await send(uploadUrl, bytes, { method }),
        await send(uploadUrl, otherBytes(n), { method }),
      ];
      expect(again.text).toBe(first.text);
      countAnswer('replayed', again.status, other.status);
    },
    'twice at once': async ({ uploadUrl }, n) => {
      const both = [bytes, n % 2 === 0 ? bytes : otherBytes(n)];
      const answers = await Promise.all(both.map((some) => send(uploadUrl, some)));
      countAnswer(n % 2 === 0 ? 'twice at once' : 'two at once', ...answers.map(({ status }) => status));
    },
  };

  it('are never visible and leave no files', async () => {
    const [failed, finished]: Reservation[][] = [[], []];
    for (const [kinds, reservations] of [
      [broken, failed],
      [repeated, finished],
    ] as const) {
      for (const breakOne of Object.values(kinds)) {
        for (let n = 0; n < BROKEN; n += 1) {
          const reservation = await reserved({ bytes: bytes.length });
          reservations?.push(reservation);
          await breakOne(reservation, n);
        }
      }
    }
    const odd = Math.floor(BROKEN / 2);
    expect(answerCounts).toEqual({
      'cut off 404,404': BROKEN,
      'too large 413': BROKEN,
      'too short 400': BROKEN,
      'tampered with 401': BROKEN,
      'with a token of another 401': BROKEN,
      'too late 401': BROKEN,
      'of other bytes 400': BROKEN,
      'of another type 415': BROKEN,
      'replayed 200,409': BROKEN,
      'twice at once 200,200': BROKEN - odd,
      'two at once 200,409': odd,
    });
    await untilNoDrafts();
    await expectNothingElse(finished ?? []);
    for (const reservation of failed ?? []) expect(await detailOf(reservation)).toBe(404);

    // Runs the sweeps as if they were due.
    const writes = { ...service.installation, clock: systemClock, objects };
    await service.pool.query(`update asset_objects set begun_at = begun_at - interval '25 hours'`);
    await objects.sweep(0);
    await createOrphanedObjects(writes).purge(10_000);
    expect((await service.pool.query('select from asset_objects')).rowCount).toBe(0);
    await service.pool.query(
      `update assets set expires_at = now() - interval '8 days' where status = 'RESERVED'`,
    );
    await createOverdueReservations(writes, findOverdueReservations(service.pool)).purge(10_000);
    await library();
    await expiredRows(service.pool)['assets that are gone'].purge(10_000);
    await expectNothingElse(finished ?? []);
    const { rows } = await service.pool.query<{ status: string }>('select distinct status from assets');
    expect(rows).toEqual([{ status: 'READY' }]);
    const total = (failed?.length ?? 0) + (finished?.length ?? 0);
    console.log(
      `${total} broken uploads to ${kind}: no asset, object, draft or row of them; ${JSON.stringify(answerCounts)}`,
    );
  }, 900_000);

  /** The library, the store and the public addresses contain the finished uploads, complete, and no others. */
  const expectNothingElse = async (finished: readonly Reservation[]): Promise<void> => {
    const assets = await library();
    expect(assets.map(({ id }) => id).sort()).toEqual(finished.map(({ assetId }) => assetId).sort());
    expect(await drafts()).toEqual([]);
    expect([...(await storedFiles())].sort()).toEqual(assets.map(({ storageKey }) => storageKey).sort());
    for (const { url, bytes: length } of assets) {
      const served = Buffer.from(await (await fetch(url)).arrayBuffer());
      expect([length, served.length, served.subarray(0, 1_000).equals(bytes.subarray(0, 1_000))]).toEqual([
        bytes.length,
        bytes.length,
        true,
      ]);
    }
  };
});

const partsOf = (uploadUrl: string): { readonly url: string; readonly token: string } => {
  const { origin, pathname, searchParams } = new URL(uploadUrl);
  return { url: origin + pathname, token: searchParams.get('token') ?? '' };
};

/** As many bytes, but different ones. */
const otherBytes = (n: number): Buffer => {
  const other = Buffer.from(bytes);
  other[other.length - 1 - n] = 1;
  return other;
};

const streamOf = (some: Buffer): ReadableStream =>
  new ReadableStream({
    start: (controller) => {
      controller.enqueue(some);
      controller.close();
    },
  });

const open = (url: string, length: number | undefined): ClientRequest => {
  const headers = {
    'Content-Type': 'application/octet-stream',
    ...(length === undefined ? {} : { 'Content-Length': length }),
  };
  const client = request(url, { method: 'PUT', headers });
  client.on('error', () => undefined);
  return client;
};
