import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep } from '../../shared/async/backoff.ts';
import type { ApiAnswer, Api } from './api-client.ts';

export interface Reservation {
  readonly uploadId: string;
  readonly assetId: string;
  readonly uploadUrl: string;
  readonly maxBytes: number;
  readonly expiresAt: string;
}

export const reserve = (
  api: Api,
  advertiserId: number | string,
  body: object,
  headers = {},
): Promise<ApiAnswer<Reservation>> =>
  api.post<Reservation>(`/advertisers/${advertiserId}/assets/uploads`, body, headers);

export interface UploadAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly data: { readonly assetId: string; readonly bytes: number } | null;
  readonly error: { readonly code: string; readonly field?: string } | null;
}

/** Sends bytes to an upload address, as a client does. */
export const send = async (
  url: string,
  bytes: Buffer | ReadableStream,
  options: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<UploadAnswer> => {
  const answer = await fetch(url, {
    method: options.method ?? 'PUT',
    headers: { 'Content-Type': 'application/octet-stream', ...options.headers },
    body: bytes instanceof Buffer ? new Uint8Array(bytes) : bytes,
    ...(bytes instanceof Buffer ? {} : { duplex: 'half' }),
  });
  const text = await answer.text();
  const { data, error } = JSON.parse(text) as Pick<UploadAnswer, 'data' | 'error'>;
  return { status: answer.status, headers: answer.headers, text, data, error };
};

/** Reserves and sends. @returns the reservation */
export const upload = async (
  api: Api,
  advertiserId: number | string,
  body: object,
  bytes: Buffer,
): Promise<Reservation> => {
  const { data } = (await reserve(api, advertiserId, body)).body;
  const answer = await send(data.uploadUrl, bytes);
  if (answer.status !== 200) throw new Error(`not uploaded: ${answer.text}`);
  return data;
};

/** Names of all files in the folder store of a data folder, by kind. */
export const storedFiles = async (
  dataDir: string,
): Promise<{ readonly drafts: readonly string[]; readonly objects: readonly string[] }> => {
  const filesOf = async (folder: string): Promise<readonly string[]> =>
    (
      await readdir(join(dataDir, 'assets', folder), { recursive: true, withFileTypes: true }).catch(() => [])
    ).flatMap((entry) => (entry.isFile() ? [entry.name] : []));
  return { drafts: await filesOf('drafts'), objects: await filesOf('objects') };
};

interface AskDatabase {
  query(text: string): Promise<{ readonly rows: readonly { readonly key: string }[] }>;
}

/**
 * Compares the folder store of a service that has no upload in progress with its assets. Repeats for up to 5 s what it
 * finds: the read model may lag behind, and a cancelled upload removes its files after its connection ends.
 * @returns drafts, objects without an asset that no sweep would find, assets without their object
 */
export const strayUploads = async (pool: AskDatabase, dataDir: string): Promise<readonly string[]> => {
  for (let tries = 0; tries < 50; tries += 1) {
    if ((await strayNow(pool, dataDir)).length === 0) return [];
    await sleep(100);
  }
  return strayNow(pool, dataDir);
};

const strayNow = async (pool: AskDatabase, dataDir: string): Promise<readonly string[]> => {
  const { drafts, objects } = await storedFiles(dataDir);
  const ready = await pool.query(
    `select body::jsonb ->> 'storageKey' as key from assets where status = 'READY'`,
  );
  const noted = await pool.query('select storage_key as key from asset_objects');
  const keys = new Set(ready.rows.map(({ key }) => key));
  const known = new Set([...keys, ...noted.rows.map(({ key }) => key)]);
  return [
    ...drafts.map((draft) => `a remaining draft: ${draft}`),
    ...objects
      .filter((object) => !known.has(object))
      .map((object) => `an object without an asset: ${object}`),
    ...[...keys].filter((key) => !objects.includes(key)).map((key) => `an asset without its object: ${key}`),
  ];
};
