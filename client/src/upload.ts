import { errorOf } from './errors.ts';
import type { AnyInit, Data, Operation } from './paths.ts';
import { sendWithRetries, type RetrySettings } from './retry.ts';

export interface UploadOptions {
  readonly name: string;
  /** e.g. `image/png`. */
  readonly mimeType: string;
  readonly bytes: Uint8Array | Blob;
  /** Called as bytes leave this program. A retry begins at 0 again. */
  readonly onProgress?: (progress: UploadProgress) => void;
  readonly signal?: AbortSignal;
}

export interface UploadProgress {
  readonly sentBytes: number;
  readonly totalBytes: number;
}

/** `assetId`, and the number of bytes that were stored. */
export type UploadedAsset = Data<Operation<'/assets/uploads/{uploadId}', 'put'>>;

type Reservation = Data<Operation<'/advertisers/{id}/assets/uploads', 'post'>>;

interface UploadTo {
  readonly advertiserId: number;
  /** Where the bytes are sent, if not to the address that the service gives. */
  readonly origin: string | undefined;
  readonly settings: RetrySettings;
  readonly fetched: typeof globalThis.fetch;
  readonly reserve: (path: string, init: AnyInit) => Promise<unknown>;
}

/** @throws ExchangeError, ExchangeConnectionError */
export const uploadAsset = async (to: UploadTo, options: UploadOptions): Promise<UploadedAsset> => {
  const { name, mimeType, bytes, signal } = options;
  const file = bytes instanceof Blob ? bytes : new Blob([bytes as Uint8Array<ArrayBuffer>]);
  const abort = signal === undefined ? {} : { signal };
  const { uploadUrl } = (await to.reserve('/advertisers/{id}/assets/uploads', {
    params: { path: { id: to.advertiserId } },
    body: { name, mimeType, bytes: file.size },
    ...abort,
  })) as Reservation;
  const { pathname, search, origin } = new URL(uploadUrl);
  const address = (to.origin ?? origin) + pathname + search;
  const send = 'XMLHttpRequest' in globalThis ? sendFromPage : sendByFetch(to.fetched);
  const response = await sendWithRetries(
    {
      // The same bytes have one effect, for as long as the address is valid. It is the only credential.
      isRepeatable: true,
      idempotencyKey: undefined,
      signal,
      send: (aborted) => send(address, file, options.onProgress, aborted),
    },
    // A large upload may last until its address ends.
    { ...to.settings, timeoutMs: undefined },
  );
  const body = (await response.json().catch(() => undefined)) as { readonly data: UploadedAsset } | undefined;
  if (!response.ok || body === undefined) throw errorOf(response, body);
  return body.data;
};

const HEADERS = { 'Content-Type': 'application/octet-stream' };

type Send = (
  url: string,
  file: Blob,
  onProgress: UploadOptions['onProgress'],
  signal: AbortSignal | undefined,
) => Promise<Response>;

const sendByFetch =
  (fetched: typeof globalThis.fetch): Send =>
  (url, file, onProgress, signal) => {
    const abort = signal === undefined ? {} : { signal };
    if (onProgress === undefined)
      return fetched(url, { method: 'PUT', headers: HEADERS, body: file, ...abort });
    let sentBytes = 0;
    const counted = file.stream().pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform: (piece, controller) => {
          controller.enqueue(piece);
          sentBytes += piece.length;
          onProgress({ sentBytes, totalBytes: file.size });
        },
      }),
    );
    // `duplex` is required for streams, and not yet part of every declaration of `fetch`.
    const init = { method: 'PUT', headers: HEADERS, body: counted, duplex: 'half' as const, ...abort };
    return fetched(url, init);
  };

/** What is used here of `XMLHttpRequest`, which Node.js has not. */
interface PageRequest extends EventTarget {
  readonly upload: EventTarget;
  readonly status: number;
  readonly responseText: string;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getResponseHeader(name: string): string | null;
  send(body: unknown): void;
  abort(): void;
}

const SHOWN_HEADERS = ['content-type', 'retry-after', 'x-request-id'];

/** In a page only `XMLHttpRequest` reports the progress of what is sent. */
const sendFromPage: Send = (url, file, onProgress, signal) =>
  new Promise((resolve, reject) => {
    const request = new (globalThis as unknown as { XMLHttpRequest: new () => PageRequest }).XMLHttpRequest();
    const abort = (): void => request.abort();
    request.open('PUT', url);
    for (const [name, value] of Object.entries(HEADERS)) request.setRequestHeader(name, value);
    request.upload.addEventListener('progress', (event) => {
      const { loaded, total } = event as unknown as { readonly loaded: number; readonly total: number };
      onProgress?.({ sentBytes: loaded, totalBytes: total });
    });
    request.addEventListener('load', () => {
      const shown = SHOWN_HEADERS.map((name) => [name, request.getResponseHeader(name)] as const);
      const headers = shown.flatMap(([name, value]) =>
        value === null ? [] : [[name, value] as [string, string]],
      );
      resolve(new Response(request.responseText, { status: request.status, headers }));
    });
    request.addEventListener('error', () => reject(new TypeError('The connection failed.')));
    request.addEventListener('abort', () => reject(signal?.reason as Error));
    request.addEventListener('loadend', () => signal?.removeEventListener('abort', abort));
    signal?.addEventListener('abort', abort);
    request.send(file);
  });
