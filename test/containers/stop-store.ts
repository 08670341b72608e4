import { z } from 'zod';
import { apiOf } from '../support/api-client.ts';
import { png } from '../support/sample-media.ts';
import { reserve } from '../support/uploads.ts';
import { until, type Docker } from './docker.ts';
import { say, type Run } from './write-and-kill.ts';

const STORE = 'buyer-exchange-s3-1';
const Asset = z.object({ id: z.string(), url: z.string() });

/** Assets are in the S3 store: ranges, answers while it is away, and the first one afterwards. @throws Error */
export const stopStore = async (docker: Docker, { account, port }: Run): Promise<void> => {
  const baseUrl = `http://127.0.0.1:${port}`;
  const api = apiOf(baseUrl, { Authorization: `Bearer ${account.apiKey}` });
  /** The addresses that the service gives name its public host. */
  const here = (url: string): string => `${baseUrl}${new URL(url).pathname}${new URL(url).search}`;
  const { id } = (await api.post<{ readonly id: number }>('/advertisers', { name: 'Assets' })).body.data;
  const bytes = png(300, 200, 50_000);
  const { uploadUrl, assetId } = (
    await reserve(api, id, { name: 'a.png', mimeType: 'image/png', bytes: bytes.length })
  ).body.data;
  const send = async (): Promise<number> =>
    (
      await fetch(here(uploadUrl), {
        method: 'PUT',
        headers: { 'Content-Type': 'application/octet-stream' },
        body: new Uint8Array(bytes),
      })
    ).status;

  await docker('stop', STORE);
  expectStatus('an upload without the store', await send(), 503);
  await docker('start', STORE);
  await until('an upload succeeds again', async () => (await send()) === 200);
  const listed = (await api.get(`/advertisers/${id}/assets`)).body.data;
  const { url } = z
    .array(Asset)
    .parse(listed)
    .find((asset) => asset.id === assetId) ?? { url: '' };
  const part = await fetch(here(url), { headers: { Range: 'bytes=8-40007' } });
  expectStatus('a range', part.status, 206);
  if (!Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(8, 40_008)))
    throw new Error('other bytes');

  await docker('stop', STORE);
  expectStatus('reading without the store', (await fetch(here(url))).status, 503);
  expectStatus('a write without the store', (await api.post('/advertisers', { name: 'More' })).status, 201);
  await docker('start', STORE);
  await until('the asset is back', async () => (await fetch(here(url))).status === 200);
  say('without the store uploads and assets are 503, all else is served, and it goes on by itself');
};

const expectStatus = (what: string, status: number, expected: number): void => {
  if (status !== expected) throw new Error(`${what}: ${status}, not ${expected}`);
};
