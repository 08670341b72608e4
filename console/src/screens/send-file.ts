import { call, exchange } from '../api/call.ts';
import { BUYER } from '../api/query.ts';
import type { Asset } from '../api/types.ts';

/** In percent. */
export type SendProgress = (progress: number) => void;

const digestOf = async (bytes: ArrayBuffer): Promise<string> =>
  [...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');

/** Above this, reading the files of the library to compare them costs more than it helps. */
const COMPARED_BYTES_MAX = 50_000_000;
const LISTED = 200;

/** The asset of the library with the same bytes, among the newest: files of the same size are compared by SHA-256. */
export const findSame = async (advertiserId: number, file: File): Promise<Asset | undefined> => {
  if (file.size > COMPARED_BYTES_MAX) return undefined;
  const { data } = await call<readonly Asset[]>({
    path: `${BUYER}/advertisers/${advertiserId}/assets`,
    query: { take: LISTED },
  });
  const candidates = data.filter(({ bytes }) => bytes === file.size);
  if (candidates.length === 0) return undefined;
  const digest = await digestOf(await file.arrayBuffer());
  for (const asset of candidates) {
    const answer = await fetch(new URL(asset.url).pathname);
    if (answer.ok && (await digestOf(await answer.arrayBuffer())) === digest) return asset;
  }
  return undefined;
};

/** @throws ExchangeError, ExchangeConnectionError */
export const sendFile = (advertiserId: number, file: File, onProgress: SendProgress): Promise<unknown> =>
  exchange.uploadAsset(advertiserId, {
    name: file.name,
    mimeType: /^[\w.+-]+\/[\w.+-]+/.exec(file.type)?.[0] ?? 'application/octet-stream',
    bytes: file,
    onProgress: ({ sentBytes, totalBytes }) => onProgress((sentBytes / totalBytes) * 100),
  });
