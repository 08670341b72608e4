import { rename, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { createUploadTokens, type UploadGrant } from '../../../command/assets/upload-token.ts';
import { sleep } from '../../../shared/async/backoff.ts';
import { parseKeyRing } from '../../../shared/secrets/key-ring.ts';
import { apiOf, untilDefinite } from '../api-client.ts';
import type { TestAccount } from '../running-service.ts';
import { png } from '../sample-media.ts';
import { reserve } from '../uploads.ts';
import { newSecret, textOfAnswer, type CanaryRun } from './canary-run.ts';

const bytes = png(4, 4, 20_000);
const asBytes = { 'Content-Type': 'application/octet-stream' };
const tokensOf = (ring: string) => createUploadTokens(async () => parseKeyRing(ring));
/** The service's key ring (`running-service.ts`). */
const ours = tokensOf(`test:${'A'.repeat(43)}`);
const strangers = tokensOf(`test:${'B'.repeat(43)}`);

interface Place {
  /** Without a token. */
  readonly url: string;
  readonly token: string;
}

/**
 * Tokens of uploads: used, repeated, tampered with, expired, foreign, sent to wrong places, and sent during outages.
 */
export const driveUploads = async (run: CanaryRun, { api }: TestAccount): Promise<void> => {
  const { service, track } = run;
  const once = { 'Idempotency-Key': 'advertiser-of-uploads' };
  const made = await untilDefinite(() => api.post<{ id: number }>('/advertisers', { name: 'Uploads' }, once));
  const advertiser = made.body.data.id;
  const reserved = async (headers: object = { 'Idempotency-Key': newSecret() }): Promise<Place> => {
    const body = { name: 'Hero', mimeType: 'image/png', bytes: bytes.length };
    const { text, body: answer } = await untilDefinite(() => reserve(api, advertiser, body, headers));
    const url = new URL(answer.data.uploadUrl);
    const token = track(url.searchParams.get('token') ?? '');
    run.recordAnswer(text, token);
    return { url: `${url.origin}${url.pathname}`, token };
  };

  const key = { 'Idempotency-Key': 'place-reserved-once-and-repeated' };
  const place = await reserved(key);
  if ((await reserved(key)).token !== place.token) throw new Error('another token for the same key');
  run.recordAnswer((await reserve(api, advertiser, { name: 'Other', mimeType: 'image/png' }, key)).text);

  await sendBroken(run, place);
  await useEverywhere(run, place);
  await useEverywhere(run, { ...place, token: track(tampered(place.token)) });
  const grant = grantOf(place);
  await useEverywhere(run, {
    ...place,
    token: track(await ours.issue({ ...grant, exp: Math.floor(Date.now() / 1_000) - 1 })),
  });
  await useEverywhere(run, { ...place, token: track(await strangers.issue(grant)) });
  await useEverywhere(run, { ...place, token: track(newSecret('not-even-a-token.')) });
  await useAtOtherRoutes(run, place);

  const [lost, ...others] = [await reserved(), await reserved(), await reserved(), await reserved()];
  await run.withFailingStore(() => useEverywhere(run, lost));
  for (const [n, table] of ['asset_objects', 'accounts', 'advertisers'].entries()) {
    await run.withoutTable(table, () => useEverywhere(run, others[n] ?? lost));
  }
  await withoutFolder(service.dataDir, () => useEverywhere(run, lost));
  await useEverywhere(run, lost);
  await run.searchStores();
};

/** Changes one letter in the middle of the signature. */
const tampered = (token: string): string =>
  `${token.slice(0, -20)}${token.at(-20) === 'A' ? 'B' : 'A'}${token.slice(-19)}`;

const grantOf = ({ token }: Place): UploadGrant =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as UploadGrant;

/** In the query and in a header, with both methods. */
const useEverywhere = async ({ recordAnswer }: CanaryRun, { url, token }: Place): Promise<void> => {
  for (const method of ['PUT', 'POST']) {
    for (const [at, headers] of [
      [`${url}?token=${token}`, {}],
      [url, { 'X-Upload-Token': token }],
    ] as const) {
      const sent = { method, headers: { ...asBytes, ...headers }, body: new Uint8Array(bytes) };
      recordAnswer(await textOfAnswer(await fetch(at, sent)));
    }
  }
};

/** Requests that are refused after their token was accepted. */
const sendBroken = async ({ recordAnswer }: CanaryRun, { url, token }: Place): Promise<void> => {
  const other = Buffer.from(bytes).fill('<html>', 0, 12);
  for (const body of [other, bytes.subarray(1), Buffer.concat([bytes, bytes]), Buffer.alloc(0)]) {
    recordAnswer(
      await textOfAnswer(
        await fetch(`${url}?token=${token}`, { method: 'PUT', headers: asBytes, body: new Uint8Array(body) }),
      ),
    );
  }
  const headers = { ...asBytes, 'Content-Length': bytes.length };
  const client = request(`${url}?token=${token}`, { method: 'PUT', headers });
  client.on('error', () => undefined);
  client.write(bytes.subarray(0, 10_000));
  await sleep(50);
  client.destroy();
};

const useAtOtherRoutes = async (
  { recordAnswer, service }: CanaryRun,
  { url, token }: Place,
): Promise<void> => {
  const query = `?token=${token}`;
  const asked: readonly (readonly [string, RequestInit])[] = [
    [url + query, { method: 'GET' }],
    [url + query, { method: 'HEAD' }],
    [url + query, { method: 'OPTIONS', headers: { Origin: `https://${token.slice(-20)}.test` } }],
    [url + query, { method: 'DELETE' }],
    [`${url}${query}&token=${token}`, { method: 'PUT', body: 'x', headers: asBytes }],
    [`${url}?token[]=${token}`, { method: 'PUT', body: 'x', headers: asBytes }],
    [`${url}?${token}`, { method: 'PUT', body: 'x', headers: asBytes }],
    [`${url}${query}%zz`, { method: 'PUT', body: 'x', headers: asBytes }],
    [`${url}x${query}`, { method: 'PUT', body: 'x', headers: asBytes }],
    [url + query, { method: 'PUT', body: 'x', headers: { ...asBytes, 'Idempotency-Key': 'short' } }],
    [url + query, { method: 'PUT', body: 'x', headers: { 'Content-Type': 'text/html' } }],
    [`${service.baseUrl}/api/v2/buyer/nowhere${query}`, { method: 'POST', body: '{}' }],
    [`${service.baseUrl}/assets/${token}`, { method: 'GET' }],
    [`${service.baseUrl}/health${query}`, { method: 'GET' }],
    [url, { method: 'PUT', body: 'x', headers: { ...asBytes, Authorization: `Bearer ${token}` } }],
  ];
  for (const [at, init] of asked) recordAnswer(await textOfAnswer(await fetch(at, init)));
  recordAnswer((await apiOf(service.baseUrl, { Authorization: `Bearer ${token}` }).get('/advertisers')).text);
};

/** Removes the folder of uploads during `run`. */
const withoutFolder = async (dataDir: string, run: () => Promise<void>): Promise<void> => {
  const [folder, away] = [join(dataDir, 'assets'), join(dataDir, 'assets-away')];
  await rename(folder, away);
  await writeFile(folder, '');
  await run();
  await rm(folder);
  await rename(away, folder);
};
