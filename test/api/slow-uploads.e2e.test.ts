import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createUploadTokens } from '../../command/assets/upload-token.ts';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { assetIdOfUpload } from '../../domain/assets/resource.ts';
import { assetStream } from '../../domain/assets/asset.ts';
import { setAccess } from '../../cli/operate-accounts.ts';
import { sleep } from '../../shared/async/backoff.ts';
import type { ClientTimeouts } from '../../shared/http/server.ts';
import { createLog } from '../../app/log.ts';
import { parseKeyRing } from '../../shared/secrets/key-ring.ts';
import { untilDefinite } from '../support/api-client.ts';
import { runTogether } from '../support/run-together.ts';
import { parseAnswers, type RawAnswer } from '../support/raw-http.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { png } from '../support/sample-media.ts';
import { reserve, send, storedFiles, type Reservation } from '../support/uploads.ts';

/** Uploads over slow lines, and attacks that look like them: over sockets, on a service with shorter timeouts. */

const timeouts: ClientTimeouts = {
  headersMs: 3_000,
  requestMs: 3_000,
  // Client and server share one process here: when it stalls, neither is at fault.
  silenceMs: 30_000,
  pace: { bytesPerSecondMin: 10_000, spanMs: 2_500 },
};
/** Bytes per second, far apart: a machine that stalls for seconds does not turn one into the other. */
const [STEADY, TRICKLED] = [80_000, 500];
/** Longer than any other request may take, plus the interval of the check for slow requests. */
const LONG_MS = 8_000;
const MARGIN_MS = 8_000;

const tokens = createUploadTokens(async () => parseKeyRing(`test:${'A'.repeat(43)}`));

let service: RunningService;
let account: TestAccount;
let advertiser: number;
beforeAll(async () => {
  service = await startRunningService({ UPLOADS_OPEN_MAX: '200' }, createLog('silent'), { timeouts });
  account = await service.openAccount();
  advertiser = (await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data.id;
});
const sockets: Socket[] = [];
afterAll(async () => {
  sockets.forEach((socket) => socket.destroy());
  await service.stop();
});

const newReservation = async (body = {}): Promise<Reservation> =>
  (
    await untilDefinite(() =>
      reserve(account.api, advertiser, { name: 'Hero', mimeType: 'image/png', ...body }),
    )
  ).body.data;

const library = async () => (await account.api.get<object[]>(`/advertisers/${advertiser}/assets`)).body;

interface PacedUpload {
  readonly socket: Socket;
  readonly answer: RawAnswer;
  /** From the first byte to the answer. */
  readonly ms: number;
}

/** Sends the head of a request, then its body at `pace(elapsed time)` bytes per second. */
const sendPaced = (
  head: string,
  body: Buffer,
  pace: (passedMs: number) => number,
  socket = connect(service.port, '127.0.0.1'),
): Promise<PacedUpload> =>
  new Promise((resolve, reject) => {
    sockets.push(socket);
    const startedAt = performance.now();
    let [lookedAt, sent, due, text] = [startedAt, 0, 0, ''];
    const timer = setInterval(() => {
      const now = performance.now();
      due += (pace(now - startedAt) * (now - lookedAt)) / 1_000;
      lookedAt = now;
      const end = Math.min(Math.floor(due), body.length);
      if (socket.writable && end > sent) socket.write(body.subarray(sent, end));
      sent = end;
    }, 50);
    const done = (): void => {
      clearInterval(timer);
      socket.off('data', onData);
    };
    const onData = (bytes: Buffer): void => {
      text += bytes.toString('latin1');
      const [, length] = /content-length: (\d+)\r\n/i.exec(text) ?? [];
      if (length === undefined || text.length < text.indexOf('\r\n\r\n') + 4 + Number(length)) return;
      done();
      const [answer] = parseAnswers(text);
      if (answer !== undefined) resolve({ socket, answer, ms: performance.now() - startedAt });
    };
    socket.on('data', onData);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      done();
      reject(new Error(`closed without an answer: ${text}`));
    });
    socket.write(head);
  });

const headOf = (method: string, target: string, headers: Readonly<Record<string, string | number>>): string =>
  [
    `${method} ${target} HTTP/1.1`,
    'Host: a',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
    .join('\r\n')
    .concat('\r\n\r\n');

const uploadHead = (uploadUrl: string, bytes: number): string => {
  const { pathname, search } = new URL(uploadUrl);
  const headers = { 'Content-Type': 'application/octet-stream', 'Content-Length': bytes };
  return headOf('PUT', `${pathname}${search}`, headers);
};

const jsonHead = (bytes: number): string =>
  headOf('POST', '/api/v2/buyer/advertisers', {
    'Content-Type': 'application/json',
    Authorization: `Bearer ${account.apiKey}`,
    'Content-Length': bytes,
  });
/** A body too large to be sent in time. */
const longJson = Buffer.from(JSON.stringify({ name: 'x', labels: { a: 'a'.repeat(1_000_000) } }));

const steadily = () => STEADY;
const trickle = () => TRICKLED;

const tooLate = {
  status: 408,
  headers: expect.objectContaining({ connection: 'close', 'x-request-id': expect.any(String) }),
};
const closedWithin = async (socket: Socket, ms: number): Promise<boolean> => {
  const startedAt = performance.now();
  while (!socket.closed && performance.now() - startedAt < ms) await sleep(20);
  return socket.closed;
};

const jsonBodyEnds = async (pace: (passedMs: number) => number): Promise<void> => {
  const { answer, ms } = await sendPaced(jsonHead(longJson.length), longJson, pace);
  expect(answer).toMatchObject(tooLate);
  expect(ms).toBeGreaterThan(timeouts.requestMs - 500);
  expect(ms).toBeLessThan(timeouts.requestMs + MARGIN_MS);
};

describe('over slow lines, all at once', () => {
  runTogether(
    {
      'a slow and steady upload succeeds, and its connection then has the usual limits': async () => {
        const bytes = png(300, 250, (STEADY * LONG_MS) / 1_000);
        const reserved = await newReservation({ bytes: bytes.length });
        const { answer, ms, socket } = await sendPaced(
          uploadHead(reserved.uploadUrl, bytes.length),
          bytes,
          steadily,
        );
        expect([answer.status, JSON.parse(answer.body)]).toMatchObject([
          200,
          { data: { assetId: reserved.assetId, bytes: bytes.length } },
        ]);
        expect(ms).toBeGreaterThan(LONG_MS - 1_000);
        const next = await sendPaced(jsonHead(longJson.length), longJson, steadily, socket);
        expect(next.answer).toMatchObject(tooLate);
        expect(next.ms).toBeLessThan(timeouts.requestMs + MARGIN_MS);
      },
      'an upload that trickles ends with 408, leaves nothing, and can be sent again': async () => {
        const bytes = png(10, 20, 100_000);
        const reserved = await newReservation();
        const head = uploadHead(reserved.uploadUrl, bytes.length);
        const { answer, ms, socket } = await sendPaced(head, bytes, trickle);
        expect(answer).toMatchObject(tooLate);
        expect(JSON.parse(answer.body)).toMatchObject({ data: null, error: { code: 'BAD_REQUEST' } });
        expect(ms).toBeLessThan(timeouts.requestMs + MARGIN_MS);
        expect(await closedWithin(socket, 5_000)).toBe(true);
        const path = `/advertisers/${advertiser}/assets/${reserved.assetId}`;
        expect((await account.api.get(path)).status).toBe(404);
        expect((await send(reserved.uploadUrl, bytes)).status).toBe(200);
        expect((await account.api.get(path)).status).toBe(200);
      },
      'an upload that slows to a trickle is ended soon after, regardless of the bytes sent before':
        async () => {
          const bytes = png(10, 20, 2_000_000);
          const reserved = await newReservation();
          const head = uploadHead(reserved.uploadUrl, bytes.length);
          const wellMs = timeouts.requestMs + 2_500;
          const { answer, ms } = await sendPaced(head, bytes, (passedMs) =>
            passedMs < wellMs ? 4 * STEADY : TRICKLED,
          );
          expect(answer).toMatchObject(tooLate);
          expect(ms).toBeGreaterThan(wellMs);
          expect(ms).toBeLessThan(wellMs + 2 * timeouts.pace.spanMs + MARGIN_MS);
        },
      'an upload may continue until its token expires': async () => {
        const reserved = await newReservation();
        const exp = Math.floor(Date.now() / 1_000) + 7;
        const token = await tokens.issue({
          uploadId: reserved.uploadId,
          customerId: account.customerId,
          advertiserId: advertiser,
          maxBytes: 20_000_000,
          mimeType: 'image/png',
          exp,
        });
        const url = reserved.uploadUrl.replace(/token=.*$/, `token=${token}`);
        const bytes = png(10, 20, 3_000_000);
        const { answer, ms } = await sendPaced(uploadHead(url, bytes.length), bytes, steadily);
        expect(answer).toMatchObject(tooLate);
        expect(Date.now()).toBeGreaterThanOrEqual(exp * 1_000 - 500);
        expect(ms).toBeLessThan(7_000 + MARGIN_MS);
      },
      'a JSON body that trickles ends at the usual time limit': () => jsonBodyEnds(trickle),
      'a JSON body that is sent steadily ends at the usual time limit': () => jsonBodyEnds(steadily),
    },
    90_000,
  );
});

describe('an upload', () => {
  it.each<readonly [string, number, (of: TestAccount, advertiserId: number) => Promise<unknown>]>([
    ['account is disabled', 401, (of) => setAccess(service.installation, of.customerId, 'disabled')],
    ['advertiser is archived', 409, (of, id) => of.api.delete(`/advertisers/${id}`)],
  ])(
    'whose %s meanwhile is refused with %i at its end, and leaves no file',
    async (_what, status, close) => {
      const other = await service.openAccount();
      const { id } = (await other.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data;
      const bytes = png(10, 20, 4_000_000);
      const reserved = (await reserve(other.api, id, { name: 'Hero', mimeType: 'image/png' })).body.data;
      let isClosed = false;
      const sending = sendPaced(uploadHead(reserved.uploadUrl, bytes.length), bytes, () =>
        isClosed ? 100 * STEADY : STEADY,
      );
      const noted = async () =>
        (await service.pool.query('select from asset_objects where customer_id = $1', [other.customerId]))
          .rowCount;
      while ((await noted()) === 0) await sleep(20);
      const before = await storedFiles(service.dataDir);
      await close(other, id);
      isClosed = true;
      expect((await sending).answer.status).toBe(status);
      const stream = assetStream(other.customerId, assetIdOfUpload(reserved.uploadId) ?? '');
      expect((await service.eventsOf(stream)).map(({ type }) => type)).toEqual(['AssetReserved']);
      expect(await storedFiles(service.dataDir)).toEqual({ drafts: [], objects: before.objects });
      expect(await noted()).toBe(0);
    },
    60_000,
  );
});

it('a hundred trickling uploads all end, use no memory while they last, and leave no file', async () => {
  const memory = (): number => {
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const bytes = png(10, 20, 5_000_000);
  const places = await Promise.all(Array.from({ length: 100 }, () => newReservation()));
  const before = memory();
  const sending = places.map(async ({ uploadUrl }, n) => {
    // Spreads their queries over time.
    await sleep(n * 20);
    // Half of them are fast enough at first.
    return sendPaced(uploadHead(uploadUrl, bytes.length), bytes, (passedMs) =>
      n % 2 === 0 && passedMs < 4_000 ? STEADY : TRICKLED,
    );
  });
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, memory())), 100);
  const ended = await Promise.all(sending);
  clearInterval(watch);
  expect(new Set(ended.map(({ answer }) => answer.status))).toEqual(new Set([408]));
  const longestMs = Math.max(...ended.map(({ ms }) => ms));
  expect(longestMs).toBeLessThan(4_000 + 2 * timeouts.pace.spanMs + MARGIN_MS);
  expect((most - before) / 1_048_576).toBeLessThan(64);
  for (const { socket } of ended) expect(await closedWithin(socket, 5_000)).toBe(true);
  const startedAt = performance.now();
  let drafts = (await storedFiles(service.dataDir)).drafts;
  while (drafts.length > 0 && performance.now() - startedAt < 10_000) {
    await sleep(100);
    drafts = (await storedFiles(service.dataDir)).drafts;
  }
  expect(drafts).toEqual([]);
  console.log(
    `100 trickling uploads: ended after ${(longestMs / 1_000).toFixed(1)} s at most, ` +
      `${((most - before) / 1_048_576).toFixed(0)} MiB more memory at most`,
  );
  expect((await library()).meta.pagination.total).toBeLessThanOrEqual(2);
}, 90_000);

describe('concurrent uploads', () => {
  const MAX = 3;
  let bounded: RunningService;
  beforeAll(async () => {
    const settings = { UPLOADS_OPEN_MAX: String(MAX), TRUSTED_PROXIES: '1' };
    bounded = await startRunningService(settings, createLog('silent'), { timeouts });
  });
  afterAll(() => bounded.stop());

  interface Uploader {
    readonly customerId: number;
    /** Reserves an upload and begins to send it from that client address. */
    begin(address: string, more?: Partial<UploadOptions>): Promise<PacedUpload>;
    /** Uploads of the account that the service is receiving. */
    open(): Promise<number>;
  }
  interface UploadOptions {
    readonly bytes: Buffer;
    readonly pace: () => number;
    readonly socket: Socket;
    readonly contentType: string;
  }
  const large = png(10, 20, 20_000_000);

  const openUploader = async (): Promise<Uploader> => {
    const { api, customerId } = await bounded.openAccount();
    const { id } = (await api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data;
    return {
      customerId,
      begin: async (address, { bytes = large, pace = steadily, socket, contentType } = {}) => {
        const { uploadUrl } = (await reserve(api, id, { name: 'Hero', mimeType: 'image/png' })).body.data;
        const { pathname, search } = new URL(uploadUrl);
        const head = headOf('PUT', `${pathname}${search}`, {
          'Content-Type': contentType ?? 'application/octet-stream',
          'Content-Length': bytes.length,
          'X-Forwarded-For': address,
        });
        return sendPaced(head, bytes, pace, socket ?? connect(bounded.port, '127.0.0.1'));
      },
      open: async () =>
        (await bounded.pool.query('select from asset_objects where customer_id = $1', [customerId]))
          .rowCount ?? 0,
    };
  };

  const noneOpen = async (uploader: Uploader): Promise<void> => {
    while ((await uploader.open()) > 0) await sleep(20);
  };

  /**
   * Begins one upload from each address and keeps them open until `end`. The account must have no other open
   * upload.
   */
  const fill = async (uploader: Uploader, addresses: readonly string[]) => {
    const own = addresses.map(() => connect(bounded.port, '127.0.0.1'));
    const ended = Promise.allSettled(
      addresses.map((address, n) => uploader.begin(address, own[n] === undefined ? {} : { socket: own[n] })),
    );
    while ((await uploader.open()) < addresses.length) await sleep(20);
    return {
      end: async () => {
        own.forEach((socket) => socket.destroy());
        await ended;
        await noneOpen(uploader);
      },
    };
  };

  const refusalOf = (of: string) => ({
    data: null,
    error: {
      code: 'RATE_LIMITED',
      message: expect.stringContaining(`Your ${of} has ${MAX} uploads in progress`),
      details: { reason: 'open_uploads', of, limit: MAX, open: MAX },
    },
  });
  const expectRefused = async ({ answer, socket }: PacedUpload, of: string): Promise<void> => {
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([429, refusalOf(of)]);
    expect(answer.headers).toMatchObject({ 'retry-after': '5', connection: 'close' });
    expect(await closedWithin(socket, 10_000)).toBe(true);
  };
  const NETWORK = ['2001:db8:1:2::1', '2001:db8:1:2::2', '2001:db8:1:2:3::3'];

  it(`are limited to ${MAX} for an address or IPv6 /64: the next one reads 429 although it sends its body`, async () => {
    const [first, second] = [await openUploader(), await openUploader()];
    const filled = await fill(first, NETWORK);
    const fast = { pace: () => 100_000_000 };
    await expectRefused(await second.begin('2001:db8:1:2:ffff::4', fast), 'client address');
    const small = { ...fast, bytes: png(10, 20) };
    expect((await second.begin('2001:db8:1:3::1', small)).answer.status).toBe(200);
    await filled.end();
    expect((await second.begin('2001:db8:1:2:ffff::4', small)).answer.status).toBe(200);
  });

  it(`are limited to ${MAX} for an account, from any addresses`, async () => {
    const [first, second] = [await openUploader(), await openUploader()];
    const filled = await fill(first, ['192.0.2.1', '192.0.2.2', '192.0.2.3']);
    const fast = { pace: () => 100_000_000, bytes: png(10, 20) };
    await expectRefused(await first.begin('192.0.2.4', fast), 'account');
    expect((await second.begin('192.0.2.4', fast)).answer.status).toBe(200);
    await filled.end();
    expect((await first.begin('192.0.2.4', fast)).answer.status).toBe(200);
  });

  it('are not counted once they have ended in any way', async () => {
    const uploader = await openUploader();
    const ADDRESS = '198.51.100.7';
    const fast = { pace: () => 100_000_000 };
    const statusOf = async (how: Partial<UploadOptions>) =>
      (await uploader.begin(ADDRESS, how)).answer.status;
    expect(await statusOf({ ...fast, bytes: png(10, 20) })).toBe(200);
    expect(await statusOf({ ...fast, bytes: Buffer.alloc(200_000_000) })).toBe(413);
    expect(await statusOf({ ...fast, bytes: Buffer.from('no picture') })).toBe(415);
    expect(await statusOf({ ...fast, bytes: png(10, 20), contentType: 'image/png' })).toBe(415);
    expect(await statusOf({ pace: trickle, bytes: png(10, 20, 100_000) })).toBe(408);
    await noneOpen(uploader);
    // Cut off in the middle.
    await (await fill(uploader, [ADDRESS])).end();
    // The limit is unchanged.
    const filled = await fill(uploader, [ADDRESS, ADDRESS, ADDRESS]);
    await expectRefused(await uploader.begin(ADDRESS, fast), 'client address');
    await filled.end();
  });
});
