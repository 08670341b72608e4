import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findOverdueReservations } from '../../app/lookups/overdue.ts';
import { createOverdueReservations } from '../../command/assets/sweep-assets.ts';
import { expiredRows } from '../../projections/expired-rows.ts';
import { createUploadTokens } from '../../command/assets/upload-token.ts';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { assetIdOf, assetIdOfUpload, type AssetResource } from '../../domain/assets/resource.ts';
import { assetStream } from '../../domain/assets/asset.ts';
import { setAccess } from '../../cli/operate-accounts.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { parseKeyRing } from '../../shared/secrets/key-ring.ts';
import { openObjectStore } from '../../shared/storage/open-object-store.ts';
import { invalid, refusalOf } from '../support/api-client.ts';
import { rawExchange } from '../support/raw-http.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { gif, jpeg, mp4, png, webpLossy } from '../support/sample-media.ts';
import { reserve, send, storedFiles, upload, type Reservation } from '../support/uploads.ts';

/** Endpoints 8, 12 and 13, reservation, detail, deletion, and the public addresses of assets. */

const ring = parseKeyRing(`test:${'A'.repeat(43)}`);
const tokens = createUploadTokens(async () => ring);
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

let service: RunningService;
let account: TestAccount;
let advertiser: number;
beforeAll(async () => {
  service = await startRunningService({ UPLOAD_BYTES_MAX: '20000000,image/gif=1000' });
  account = await service.openAccount();
  advertiser = await newAdvertiser();
});
afterAll(() => service.stop());

const newAdvertiser = async ({ api } = account): Promise<number> =>
  (await api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data.id;
const list = (query = '', id = advertiser) =>
  account.api.get<AssetResource[]>(`/advertisers/${id}/assets${query}`);
const tokenOf = ({ uploadUrl }: Reservation): string => new URL(uploadUrl).searchParams.get('token') ?? '';
const eventsOf = async ({ assetId }: Reservation): Promise<readonly string[]> =>
  (await service.eventsOf(assetStream(account.customerId, assetIdOf(assetId) ?? ''))).map(({ type }) => type);

describe('a reservation', () => {
  it('contains the upload address, the size limit and the expiry', async () => {
    const { status, body } = await reserve(account.api, advertiser, { name: 'Hero', mimeType: 'Image/PNG' });
    expect(status).toBe(201);
    expect(body.data).toEqual({
      uploadId: expect.stringMatching(/^upl_[0-9a-f]{32}$/),
      assetId: expect.stringMatching(/^ast_[0-9a-f]{32}$/),
      uploadUrl: expect.stringContaining(`${service.baseUrl}/api/v2/buyer/assets/uploads/upl_`),
      method: 'PUT',
      headers: { 'Content-Type': 'application/octet-stream' },
      maxBytes: 20_000_000,
      expiresAt: expect.any(String),
    });
    const minutes = (Date.parse(body.data.expiresAt) - Date.now()) / 60_000;
    expect(minutes).toBeGreaterThan(13);
    expect(minutes).toBeLessThan(16);
    expect((await list()).body.data).toEqual([]);
  });

  it('repeated with its key is the same, including the upload address', async () => {
    const key = { 'Idempotency-Key': 'reserve-once-and-again' };
    const body = { name: 'Hero', mimeType: 'image/png' };
    const first = await reserve(account.api, advertiser, body, key);
    const second = await reserve(account.api, advertiser, body, key);
    expect([second.status, second.headers.get('idempotent-replayed'), second.text]).toEqual([
      201,
      'true',
      first.text,
    ]);
    const { rows } = await service.pool.query(`select 1 from idempotency_keys where body like '%token=%'`);
    expect(rows).toEqual([]);
  });

  it.each([
    [{ mimeType: 'image/png' }, 'name'],
    [{ name: '', mimeType: 'image/png' }, 'name'],
    [{ name: 'x' }, 'mimeType'],
    [{ name: 'x', mimeType: 'png' }, 'mimeType'],
    [{ name: 'x', mimeType: 'text/html; charset=utf-8' }, 'mimeType'],
    [{ name: 'x', mimeType: 'image/png', bytes: 0 }, 'bytes'],
    [{ name: 'x', mimeType: 'image/png', bytes: 20_000_001 }, 'bytes'],
    [{ name: 'x', mimeType: 'image/gif', bytes: 1_001 }, 'bytes'],
    [{ name: 'x', mimeType: 'image/png', sha256: 'abc' }, 'sha256'],
    [{ name: 'x', mimeType: 'image/png', width: -1 }, 'width'],
  ])('refuses %j with 400 and field %s', async (body, field) => {
    expect(refusalOf(await reserve(account.api, advertiser, body))).toEqual(invalid(field));
  });

  it('needs an active advertiser of the account', async () => {
    const body = { name: 'x', mimeType: 'image/png' };
    expect((await reserve(account.api, 2_147_483_647, body)).status).toBe(404);
    const archived = await newAdvertiser();
    const reserved = (await reserve(account.api, archived, body)).body.data;
    await account.api.delete(`/advertisers/${archived}`);
    expect((await reserve(account.api, archived, body)).status).toBe(409);
    expect((await send(reserved.uploadUrl, png(1, 1))).status).toBe(409);
  });
});

describe('an upload', () => {
  it.each([
    ['image/png', png(300, 250, 5_000), { width: 300, height: 250, mediaKind: 'image' }, 'png'],
    ['image/jpeg', jpeg(640, 480), { width: 640, height: 480, mediaKind: 'image' }, 'jpg'],
    ['image/gif', gif(728, 90), { width: 728, height: 90, mediaKind: 'image' }, 'gif'],
    ['image/webp', webpLossy(320, 50), { width: 320, height: 50, mediaKind: 'image' }, 'webp'],
    ['video/mp4', mp4(), { width: 640, height: 360, durationMs: 5_005, mediaKind: 'video' }, 'mp4'],
    // Its byte order mark is that of an MP3.
    ['text/csv', Buffer.from('\ufeffname;preis\nSchühe;1', 'utf16le'), { mediaKind: 'text' }, 'csv'],
    ['text/plain', Buffer.from('Buy grüezi 👋'), { textContent: 'Buy grüezi 👋', mediaKind: 'text' }, 'txt'],
    ['text/html', Buffer.from('<script>alert(1)</script>'), { mediaKind: 'html' }, 'html'],
    ['application/x-own', randomBytes(1_000), { mediaKind: 'other' }, 'bin'],
  ])('of %s appears in the library and at its address', async (mimeType, bytes, facts, extension) => {
    const own = await newAdvertiser();
    const reserved = (await reserve(account.api, own, { name: 'An asset', mimeType })).body.data;
    const answer = await send(reserved.uploadUrl, bytes);
    expect([answer.status, answer.data]).toEqual([200, { assetId: reserved.assetId, bytes: bytes.length }]);
    const { body } = await list('', own);
    const [asset] = body.data;
    expect(asset).toEqual({
      id: reserved.assetId,
      advertiserId: own,
      name: 'An asset',
      mimeType,
      url: `${service.baseUrl}/assets/${asset?.storageKey}`,
      storageKey: expect.stringMatching(new RegExp(`^[0-9a-f]{32}-[0-9a-f]{24}\\.${extension}$`)),
      bytes: bytes.length,
      source: 'uploaded',
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      ...facts,
    });
    expect(body.meta.pagination).toEqual({ skip: 0, take: 50, total: 1, hasMore: false });
    const detail = await account.api.get(`/advertisers/${own}/assets/${reserved.assetId}`);
    expect(detail.body.data).toEqual(asset);
    const served = await fetch(asset?.url ?? '');
    expect(Buffer.from(await served.arrayBuffer()).equals(bytes)).toBe(true);
  });

  it('is also accepted by POST, with its token in a header, in chunks; the bearer credential is ignored', async () => {
    const bytes = png(10, 20, 100_000);
    const reserved = (await reserve(account.api, advertiser, { name: 'x', mimeType: 'image/png' })).body.data;
    const stream = new ReadableStream({
      start: (controller) => {
        for (let at = 0; at < bytes.length; at += 10_000) controller.enqueue(bytes.subarray(at, at + 10_000));
        controller.close();
      },
    });
    const answer = await send(reserved.uploadUrl.replace(/\?.*$/, ''), stream, {
      method: 'POST',
      headers: { 'X-Upload-Token': tokenOf(reserved), Authorization: 'Bearer nonsense' },
    });
    expect([answer.status, answer.data?.bytes]).toEqual([200, bytes.length]);
    expect(answer.headers.get('ratelimit-limit')).not.toBeNull();
  });

  it('with the same bytes again changes nothing; with other bytes it is refused', async () => {
    const bytes = png(3, 4);
    const reserved = await upload(account.api, advertiser, { name: 'x', mimeType: 'image/png' }, bytes);
    const before = await storedFiles(service.dataDir);
    const again = await send(reserved.uploadUrl, bytes, {
      headers: { 'Idempotency-Key': 'some-key-of-the-client' },
    });
    expect([again.status, again.data]).toEqual([200, { assetId: reserved.assetId, bytes: bytes.length }]);
    const other = await send(reserved.uploadUrl, png(4, 3));
    expect([other.status, other.error?.code]).toEqual([409, 'CONFLICT']);
    expect(await eventsOf(reserved)).toEqual(['AssetReserved', 'AssetUploaded']);
    expect(await storedFiles(service.dataDir)).toEqual(before);
  });

  it('has one winner among concurrent uploads of different bytes', async () => {
    const reserved = (await reserve(account.api, advertiser, { name: 'x', mimeType: 'image/png' })).body.data;
    const before = await storedFiles(service.dataDir);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => send(reserved.uploadUrl, png(1 + (n % 4), 9, 50_000))),
    );
    const detail = await account.api.get<AssetResource>(
      `/advertisers/${advertiser}/assets/${reserved.assetId}`,
    );
    const winner = detail.body.data.width;
    expect(answers.map(({ status }) => status)).toEqual(
      answers.map((_, n) => (1 + (n % 4) === winner ? 200 : 409)),
    );
    expect(await eventsOf(reserved)).toEqual(['AssetReserved', 'AssetUploaded']);
    const after = await storedFiles(service.dataDir);
    expect([after.drafts, after.objects.length]).toEqual([[], before.objects.length + 1]);
    expect((await service.pool.query('select 1 from asset_objects')).rows).toEqual([]);
  });

  it('is refused when it does not match its reservation, and leaves no file', async () => {
    const before = await storedFiles(service.dataDir);
    const bytes = png(1, 1, 1_000);
    const exact = { name: 'x', mimeType: 'image/png', bytes: bytes.length, sha256: sha256(bytes) };
    // The byte order mark of UTF-16, then control characters.
    const utf16Binary = Buffer.from([0xff, 0xfe, 1, 0, 2, 0]);
    const cases: [object, Buffer, number, string, string | undefined, Record<string, string>?][] = [
      [exact, bytes.subarray(1), 400, 'VALIDATION_ERROR', 'bytes'],
      [exact, Buffer.concat([bytes, bytes]), 413, 'PAYLOAD_TOO_LARGE', undefined],
      [exact, png(2, 1, 1_000), 400, 'VALIDATION_ERROR', 'sha256'],
      [exact, Buffer.alloc(0), 400, 'VALIDATION_ERROR', 'bytes'],
      [exact, bytes, 415, 'UNSUPPORTED_MEDIA_TYPE', undefined, { 'Content-Type': 'image/png' }],
      [exact, bytes, 415, 'UNSUPPORTED_MEDIA_TYPE', undefined, { 'Content-Encoding': 'gzip' }],
      [exact, bytes, 400, 'VALIDATION_ERROR', 'Idempotency-Key', { 'Idempotency-Key': 'short' }],
      [{ name: 'x', mimeType: 'image/gif' }, bytes, 413, 'PAYLOAD_TOO_LARGE', undefined],
      [{ name: 'x', mimeType: 'image/jpeg' }, bytes, 415, 'UNSUPPORTED_MEDIA_TYPE', undefined],
      [{ name: 'x', mimeType: 'image/png' }, Buffer.from('<html>'), 415, 'UNSUPPORTED_MEDIA_TYPE', undefined],
      [{ name: 'x', mimeType: 'text/html' }, bytes, 415, 'UNSUPPORTED_MEDIA_TYPE', undefined],
      [{ name: 'x', mimeType: 'image/png' }, png(0, 7), 415, 'UNSUPPORTED_MEDIA_TYPE', undefined],
      [{ name: 'x', mimeType: 'video/mp4' }, mp4().subarray(0, -9), 415, 'UNSUPPORTED_MEDIA_TYPE', undefined],
      [{ name: 'x', mimeType: 'text/csv' }, utf16Binary, 415, 'UNSUPPORTED_MEDIA_TYPE', undefined],
    ];
    for (const [body, sent, status, code, field, headers = {}] of cases) {
      const reserved = (await reserve(account.api, advertiser, body)).body.data;
      const answer = await send(reserved.uploadUrl, sent, { headers });
      expect([body, answer.status, answer.error?.code, answer.error?.field]).toEqual([
        body,
        status,
        code,
        field,
      ]);
      expect(await eventsOf(reserved)).toEqual(['AssetReserved']);
    }
    expect(await storedFiles(service.dataDir)).toEqual(before);
    expect((await service.pool.query('select 1 from asset_objects')).rows).toEqual([]);
  });

  it('that is cut off leaves no file, and can be sent again', async () => {
    const bytes = png(5, 5, 500_000);
    const reserved = (await reserve(account.api, advertiser, { name: 'x', mimeType: 'image/png' })).body.data;
    const { pathname, search } = new URL(reserved.uploadUrl);
    const head = `PUT ${pathname}${search} HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\n`;
    for (const body of [
      `Content-Length: ${bytes.length}\r\n\r\n`,
      'Transfer-Encoding: chunked\r\n\r\n30d40\r\n',
    ]) {
      const socket = connect(service.port, '127.0.0.1');
      socket.write(head + body);
      socket.write(bytes.subarray(0, 200_000));
      for (
        let tries = 0;
        (await storedFiles(service.dataDir)).drafts.length === 0 && tries < 500;
        tries += 1
      ) {
        await sleep(10);
      }
      socket.resetAndDestroy();
    }
    for (let tries = 0; (await storedFiles(service.dataDir)).drafts.length > 0 && tries < 500; tries += 1) {
      await sleep(10);
    }
    expect((await storedFiles(service.dataDir)).drafts).toEqual([]);
    expect(await eventsOf(reserved)).toEqual(['AssetReserved']);
    expect((await send(reserved.uploadUrl, bytes)).status).toBe(200);
  });
});

describe('deleted and expired assets', () => {
  it('keep their rows for a week; other assets keep theirs', async () => {
    const own = await newAdvertiser();
    const media = { name: 'x', mimeType: 'image/png' };
    const late = (await reserve(account.api, own, media)).body.data;
    const waiting = (await reserve(account.api, own, media)).body.data;
    const kept = await upload(account.api, own, media, png(1, 1));
    const deleted = await upload(account.api, own, media, png(1, 1));
    await account.api.delete(`/advertisers/${own}/assets/${deleted.assetId}`);
    const rows = async (): Promise<readonly string[]> => {
      // A read waits until the rows contain every write of the account.
      await list('', own);
      const found = await service.pool.query<{ status: string }>(
        'select status from assets where advertiser_id = $1 order by status',
        [own],
      );
      return found.rows.map(({ status }) => status);
    };
    const age = async (interval: string, { assetId }: Reservation): Promise<void> => {
      await service.pool.query(`update assets set expires_at = now() - $1::interval where id = $2`, [
        interval,
        assetIdOf(assetId),
      ]);
    };
    const writes = { ...service.installation, clock: systemClock };
    const objects = await openObjectStore(undefined, service.dataDir);
    const expire = () =>
      createOverdueReservations({ ...writes, objects }, findOverdueReservations(service.pool)).purge(1_000);
    const purge = () => expiredRows(service.pool)['assets that are gone'].purge(1_000);
    expect(await rows()).toEqual(['READY', 'REMOVED', 'RESERVED', 'RESERVED']);
    await age('61 minutes', late);
    await expire();
    await expire();
    expect(await eventsOf(late)).toEqual(['AssetReserved', 'AssetReservationExpired']);
    expect(await rows()).toEqual(['EXPIRED', 'READY', 'REMOVED', 'RESERVED']);
    expect(await purge()).toBe(0);
    for (const one of [late, deleted, kept]) await age('8 days', one);
    expect(await purge()).toBe(2);
    expect(await rows()).toEqual(['READY', 'RESERVED']);
    expect((await send(late.uploadUrl, png(1, 1))).status).toBe(409);
    expect((await send(waiting.uploadUrl, png(1, 1))).status).toBe(200);
    expect((await list('', own)).body.data.map(({ id }) => id)).toEqual([waiting.assetId, kept.assetId]);
  });
});

describe('an upload token', () => {
  it('is refused without details when it is forged, expired, of another upload or of a disabled account', async () => {
    const bytes = png(1, 1);
    const reserved = (await reserve(account.api, advertiser, { name: 'x', mimeType: 'image/png' })).body.data;
    const other = (await reserve(account.api, advertiser, { name: 'x', mimeType: 'image/png' })).body.data;
    const good = {
      uploadId: reserved.uploadId,
      customerId: account.customerId,
      advertiserId: advertiser,
      maxBytes: 1_000,
      mimeType: 'image/png',
      exp: Math.floor(Date.now() / 1_000) + 600,
    };
    const ours = (change: object) => tokens.issue({ ...good, ...change });
    const strangers = createUploadTokens(async () => parseKeyRing(`test:${'B'.repeat(43)}`));
    const never = `upl_${'0'.repeat(32)}`;
    const stranger = await service.openAccount('Stranger');
    const closed = await service.openAccount('Closed');
    const closedReserved = (
      await reserve(closed.api, await newAdvertiser(closed), { name: 'x', mimeType: 'image/png' })
    ).body.data;
    await setAccess(service.installation, closed.customerId, 'disabled');
    const path = reserved.uploadUrl.replace(/\?.*$/, '');
    const urls = [
      path,
      `${path}?token=x`,
      `${path}?token=${tokenOf(other)}`,
      `${path}?token=${await ours({ exp: good.exp - 601 })}`,
      `${path}?token=${await ours({ exp: good.exp - 3 * 86_400 })}`,
      `${path}?token=${await ours({ customerId: stranger.customerId })}`,
      `${path}?token=${await strangers.issue(good)}`,
      `${path.replace(reserved.uploadId, never)}?token=${await ours({ uploadId: never })}`,
      other.uploadUrl.replace(/\?.*$/, `?token=${tokenOf(reserved)}`),
      closedReserved.uploadUrl,
    ];
    const answers = await Promise.all(urls.map((url) => send(url, bytes)));
    expect(answers.map(({ status }) => status)).toEqual(urls.map(() => 401));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.headers.get('www-authenticate')).toBeNull();
    expect((await send(`${path}?token=${await ours({})}`, bytes)).status).toBe(200);
    expect(assetIdOfUpload(reserved.uploadId)).toBe(assetIdOf(reserved.assetId));
  });
});

describe('the library', () => {
  it('is paged, filtered and searched', async () => {
    const own = await newAdvertiser();
    const names = ['Summer hero', 'Winter hero', 'Logo', '100% sale'];
    for (const name of names) await upload(account.api, own, { name, mimeType: 'image/png' }, png(1, 1));
    await upload(account.api, own, { name: 'Spot', mimeType: 'video/mp4' }, mp4());
    const namesAt = async (query: string) => {
      const { body } = await list(query, own);
      return [body.data.map(({ name }) => name), body.meta.pagination.total];
    };
    expect(await namesAt('')).toEqual([['Spot', ...names.toReversed()], 5]);
    expect(await namesAt('?take=2&skip=1')).toEqual([['100% sale', 'Logo'], 5]);
    expect(await namesAt('?take=2&skip=4')).toEqual([['Summer hero'], 5]);
    expect(await namesAt('?skip=9007199254740991')).toEqual([[], 5]);
    expect(await namesAt('?mediaKind=video')).toEqual([['Spot'], 1]);
    expect(await namesAt('?mediaKind=image&take=1')).toEqual([['100% sale'], 4]);
    expect(await namesAt('?source=generated')).toEqual([[], 0]);
    expect(await namesAt('?search=HERO')).toEqual([['Winter hero', 'Summer hero'], 2]);
    expect(await namesAt('?search=%25')).toEqual([['100% sale'], 1]);
    expect(await namesAt('?source=uploaded&mediaKind=image&search=logo')).toEqual([['Logo'], 1]);
    expect(refusalOf(await list('?mediaKind=film', own))).toEqual(invalid('mediaKind'));
    expect(refusalOf(await list('?take=201', own))).toEqual(invalid('take'));
    expect((await list('', 2_147_483_647)).status).toBe(404);
  });

  it('leaves out a deleted asset, whose address is 404', async () => {
    const own = await newAdvertiser();
    const { assetId, uploadUrl } = await upload(
      account.api,
      own,
      { name: 'x', mimeType: 'image/png' },
      png(1, 1),
    );
    const [asset] = (await list('', own)).body.data;
    const path = `/advertisers/${own}/assets/${assetId}`;
    expect((await account.api.delete(`/advertisers/${advertiser}/assets/${assetId}`)).status).toBe(404);
    const key = { 'Idempotency-Key': `delete-${assetId}` };
    expect((await account.api.delete(path, key)).status).toBe(204);
    expect((await account.api.delete(path, key)).status).toBe(204);
    expect((await account.api.delete(path)).status).toBe(404);
    expect((await account.api.get(path)).status).toBe(404);
    expect((await list('', own)).body.meta.pagination.total).toBe(0);
    expect((await fetch(asset?.url ?? '')).status).toBe(404);
    expect((await send(uploadUrl, png(1, 1))).status).toBe(409);
    expect((await service.pool.query('select 1 from asset_objects')).rows).toEqual([]);
  });
});

describe('the address of an asset', () => {
  const served = async (mimeType: string, bytes: Buffer) => {
    const own = await newAdvertiser();
    await upload(account.api, own, { name: 'x', mimeType }, bytes);
    return (await list('', own)).body.data[0]?.url ?? '';
  };

  it('is immutable, in whole or in part, and needs no lookup', async () => {
    const bytes = png(7, 7, 10_000);
    const url = await served('image/png', bytes);
    const get = (headers = {}, method = 'GET') => fetch(url, { headers, method });
    const whole = await get();
    const etag = whole.headers.get('etag') ?? '';
    expect([whole.status, whole.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(whole.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(whole.headers.get('accept-ranges')).toBe('bytes');
    expect(whole.headers.get('ratelimit-limit')).toBeNull();
    const head = await get({}, 'HEAD');
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
      200,
      String(bytes.length),
      '',
    ]);
    expect((await get({ 'If-None-Match': `"x", W/${etag}` })).status).toBe(304);
    expect((await get({ 'If-None-Match': '"x"' })).status).toBe(200);
    const part = async (range: string, headers = {}) => {
      const answer = await get({ Range: range, ...headers });
      const body = Buffer.from(await answer.arrayBuffer());
      return [answer.status, answer.headers.get('content-range'), body.toString('hex')];
    };
    const total = bytes.length;
    const hex = (from: number, to: number): string => bytes.subarray(from, to).toString('hex');
    expect(await part('bytes=0-9')).toEqual([206, `bytes 0-9/${total}`, hex(0, 10)]);
    expect(await part(`bytes=${total - 3}-`)).toEqual([
      206,
      `bytes ${total - 3}-${total - 1}/${total}`,
      hex(total - 3, total),
    ]);
    expect(await part('bytes=-5')).toEqual([
      206,
      `bytes ${total - 5}-${total - 1}/${total}`,
      hex(total - 5, total),
    ]);
    expect(await part('bytes=16-99999999')).toEqual([206, `bytes 16-${total - 1}/${total}`, hex(16, total)]);
    expect((await part(`bytes=${total}-`)).slice(0, 2)).toEqual([416, `bytes */${total}`]);
    expect((await part('bytes=-0'))[0]).toBe(416);
    for (const ignored of ['bytes=5-2', 'bytes=0-1,3-4', 'lines=1-2', 'nonsense']) {
      expect((await part(ignored))[0]).toBe(200);
    }
    expect((await part('bytes=0-9', { 'If-Range': etag }))[0]).toBe(206);
    expect((await part('bytes=0-9', { 'If-Range': '"x"' }))[0]).toBe(200);
  });

  it.each([
    ['image/png', png(1, 1), false],
    ['video/mp4', mp4(), false],
    ['text/html', Buffer.from('<script>document.title = 1</script>'), true],
    ['image/svg+xml', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'), true],
    ['text/javascript', Buffer.from('alert(1)'), true],
    ['application/xml', Buffer.from('<?xml version="1.0"?><a/>'), true],
    ['application/pdf', Buffer.from('%PDF-1.7'), true],
    ['application/x-shockwave-flash', Buffer.from('FWS'), true],
  ])('of %s is sent with headers that stop it from running', async (mimeType, bytes, isFile) => {
    const { headers } = await fetch(await served(mimeType, bytes));
    expect(headers.get('content-security-policy')).toBe("default-src 'none';frame-ancestors 'none';sandbox");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(/^attachment; filename="[0-9a-f-]+\.\w+"$/.test(headers.get('content-disposition') ?? '')).toBe(
      isFile,
    );
    expect(headers.get('set-cookie')).toBeNull();
  });

  it('answers 404 for a path that is not an asset address', async () => {
    const paths = [
      '..%2f..%2fetc%2fpasswd',
      '%252e%252e',
      'a',
      'aa%00',
      `ab${'c'.repeat(4_000)}`,
      'CON',
      'ab%5ccd',
    ];
    const port = Number(new URL(service.baseUrl).port);
    for (const path of paths) {
      // `fetch` would send `/` for `/assets/..`.
      const request = `GET /assets/${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
      expect((await rawExchange(port, request)).first.status).toBe(404);
    }
  });
});
