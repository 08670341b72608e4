import createFetchClient, { type Client } from 'openapi-fetch';
import { errorOf } from './errors.ts';
import { listen, type ListenOptions, type Position } from './listen.ts';
import { readPage, type Item, type ListPath, type Page, type ReadPage } from './pages.ts';
import {
  BUYER,
  type AnyInit,
  type Data,
  type InitArgument,
  type Method,
  type Operation,
  type Paths,
  type PathsWith,
} from './paths.ts';
import { sendWithRetries, type RetrySettings } from './retry.ts';
import { uploadAsset, type UploadedAsset, type UploadOptions } from './upload.ts';
import type { ExchangeEvent } from './webhook.ts';

export interface ClientOptions {
  /** Of the service, e.g. `https://exchange.example.com`. Default: the origin of the page. */
  readonly url?: string | undefined;
  /**
   * An API key or an OAuth access token. A function is asked before each request, e.g. for a renewed token. In a browser
   * only a function is accepted, because a text would be part of the program that everyone can download. Without it, a
   * browser sends the cookie of the person who has signed in.
   */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined;
  /** At most, of each call: 1 to 5. Default: 4. */
  readonly tries?: number;
  /** Of each try. Default: 30,000. */
  readonly timeoutMs?: number;
  /** The longest `Retry-After` to wait for. Default: 60, one window of the rate limits. */
  readonly waitSecondsMax?: number;
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface Answer<D> {
  readonly data: D;
  /** e.g. `pagination`. */
  readonly meta: unknown;
  readonly status: number;
  readonly headers: Headers;
}

type Call<M extends Method> = <P extends PathsWith<M>>(
  path: P,
  ...init: InitArgument<Operation<P, M>>
) => Promise<Data<Operation<P, M>>>;

/** Every call throws `ExchangeError` for a refusal, and `ExchangeConnectionError` if no answer arrives. */
export interface Exchange {
  readonly get: Call<'get'>;
  readonly put: Call<'put'>;
  readonly post: Call<'post'>;
  readonly delete: Call<'delete'>;
  /** A call with the status, the headers and `meta` of its answer. */
  answer<M extends Method, P extends PathsWith<M>>(
    method: M,
    path: P,
    ...init: InitArgument<Operation<P, M>>
  ): Promise<Answer<Data<Operation<P, M>>>>;
  /** One page of a list. */
  page<P extends ListPath>(
    path: P,
    ...init: InitArgument<Operation<P, 'get'>>
  ): Promise<Page<Data<Operation<P, 'get'>>>>;
  /** All pages, one request for each. Without `asOf`, items that are created meanwhile move others to later pages. */
  pages<P extends ListPath>(
    path: P,
    ...init: InitArgument<Operation<P, 'get'>>
  ): AsyncIterableIterator<Page<Data<Operation<P, 'get'>>>>;
  /** The items of all pages. */
  items<P extends ListPath>(
    path: P,
    ...init: InitArgument<Operation<P, 'get'>>
  ): AsyncIterableIterator<Item<Data<Operation<P, 'get'>>>>;
  /** Reserves a place in the library of an advertiser and sends the bytes there. */
  uploadAsset(advertiserId: number, options: UploadOptions): Promise<UploadedAsset>;
  /** The events of the account as they happen. Connects again by itself and resumes where it was. */
  listen(options?: ListenOptions): AsyncIterableIterator<ExchangeEvent & Position>;
  /** The client of openapi-fetch below, which returns the envelope and throws nothing for a refusal. */
  readonly raw: Client<Paths>;
}

const TRIES = 4;
const TRIES_MAX = 5;
const TIMEOUT_MS = 30_000;
const WAIT_SECONDS_MAX = 60;
const KEY = 'Idempotency-Key';

/** Random, without `crypto.randomUUID`, which browsers have for https only. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

const isBrowser = (): boolean => 'document' in globalThis || 'WorkerGlobalScope' in globalThis;

/** Where the service is, without a slash at the end. */
const urlOf = (url: string | undefined): string => {
  const page = (globalThis as { readonly location?: { readonly origin: string } }).location?.origin;
  const given = url ?? page;
  if (given === undefined) throw new TypeError('Name the url of the service.');
  return given.replace(/\/+$/, '');
};

const settingsOf = (options: ClientOptions): RetrySettings => {
  const { tries = TRIES, timeoutMs = TIMEOUT_MS, waitSecondsMax = WAIT_SECONDS_MAX } = options;
  if (!Number.isInteger(tries) || tries < 1 || tries > TRIES_MAX)
    throw new RangeError('tries must be 1 to 5.');
  return { tries, timeoutMs, waitSecondsMax };
};

const isWrite = (method: string): boolean => !['GET', 'HEAD', 'OPTIONS'].includes(method.toUpperCase());

/** OAuth and MCP know no idempotency keys, so their writes are not safe to repeat. */
const WITHOUT_KEYS = /^\/(?:auth\/(?:register|revoke|token)|mcp(?:\/v3)?)$/;

const takesKey = (method: string, path: string): boolean => isWrite(method) && !WITHOUT_KEYS.test(path);

/** @returns the header of the credential, or none for a session's cookie */
const authorizationOf = ({ apiKey }: ClientOptions): (() => Promise<Readonly<Record<string, string>>>) => {
  if (typeof apiKey === 'string' && isBrowser()) {
    throw new TypeError('In a browser, pass apiKey as a function, so that no key is part of the page.');
  }
  return async () => {
    if (apiKey === undefined) return {};
    return { Authorization: `Bearer ${typeof apiKey === 'string' ? apiKey : await apiKey()}` };
  };
};

/** @param text undefined or empty: no body */
const parsed = (response: Response, text: unknown, key: string | undefined): unknown => {
  if (typeof text !== 'string' || text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    const error = { code: 'UNEXPECTED_ANSWER', message: 'The answer is not JSON, e.g. a page of a proxy.' };
    throw errorOf(response, { error }, key);
  }
};

type RawRequest = (
  method: string,
  path: string,
  init: object,
) => Promise<{ readonly data?: unknown; readonly error?: unknown; readonly response: Response }>;

/** `fetch` with the credential, an idempotency key for each write, and retries. */
const createRetryingFetch = (
  options: ClientOptions,
  fetched: typeof globalThis.fetch,
): ((request: Request) => Promise<Response>) => {
  const settings = settingsOf(options);
  const authorization = authorizationOf(options);
  return async (request) => {
    const isKeyed = takesKey(request.method, new URL(request.url).pathname);
    if (isKeyed && !request.headers.has(KEY)) request.headers.set(KEY, newKey());
    return sendWithRetries(
      {
        isRepeatable: isKeyed || !isWrite(request.method),
        idempotencyKey: request.headers.get(KEY) ?? undefined,
        signal: request.signal,
        send: async (signal) => {
          const sent = new Request(request.clone(), signal === undefined ? {} : { signal });
          for (const [name, value] of Object.entries(await authorization())) sent.headers.set(name, value);
          return fetched(sent);
        },
      },
      settings,
    );
  };
};

/**
 * A client of the service. Paths below `/api/v2/buyer` are named without that prefix: `exchange.get('/advertisers')`.
 * @throws TypeError for options that cannot work
 */
export const createClient = (options: ClientOptions = {}): Exchange => {
  const url = urlOf(options.url);
  const fetched: typeof globalThis.fetch = options.fetch ?? ((...given) => globalThis.fetch(...given));
  const authorization = authorizationOf(options);
  const raw = createFetchClient<Paths>({
    baseUrl: url + BUYER,
    fetch: createRetryingFetch(options, fetched),
  });
  raw.use({
    onRequest: ({ schemaPath, request }) =>
      /^\/(?:api|auth)\//.test(schemaPath) ? withoutBuyer(request, url) : undefined,
  });
  const request = raw.request as unknown as RawRequest;

  const answer = async (method: Method, path: string, init: AnyInit = {}): Promise<Answer<unknown>> => {
    const { idempotencyKey, headers, parseAs = 'json', ...rest } = init;
    const key = takesKey(method, path) ? (idempotencyKey ?? headers?.[KEY] ?? newKey()) : undefined;
    const sent = { ...rest, headers: { ...headers, ...(key === undefined ? {} : { [KEY]: key }) } };
    // openapi-fetch gives neither status nor headers of an answer that is not JSON.
    const read = { ...sent, parseAs: parseAs === 'json' ? 'text' : parseAs };
    const { data: received, error, response } = await request(method, path, read);
    if (!response.ok) throw errorOf(response, error, key);
    return answerOf(response, parseAs === 'json' ? parsed(response, received, key) : received);
  };

  const page = async (path: string, init: AnyInit = {}): Promise<ReadPage<unknown>> => {
    const { data, meta } = await answer('get', path, init);
    return readPage(path, init.params?.query ?? {}, data, meta);
  };

  const pages = async function* (path: string, init: AnyInit = {}): AsyncIterableIterator<Page<unknown>> {
    let query = init.params?.query;
    for (;;) {
      const read = await page(path, {
        ...init,
        params: { ...init.params, ...(query === undefined ? {} : { query }) },
      });
      yield read;
      if (read.next === undefined) return;
      query = read.next;
    }
  };

  const items = async function* (path: string, init?: AnyInit): AsyncIterableIterator<unknown> {
    for await (const read of pages(path, init)) yield* read.items;
  };

  const data = (method: Method) => async (path: string, init?: AnyInit) =>
    (await answer(method, path, init)).data;
  // A page of the service may have been opened by another of its names, e.g. localhost.
  const origin = options.url === undefined ? url : undefined;
  const sending = { origin, settings: settingsOf(options), fetched };
  const upload = (advertiserId: number, given: UploadOptions): Promise<UploadedAsset> =>
    uploadAsset({ ...sending, advertiserId, reserve: data('post') }, given);

  // The declared types are of the paths; the code is the same for all.
  return {
    get: data('get'),
    put: data('put'),
    post: data('post'),
    delete: data('delete'),
    answer,
    page,
    pages,
    items,
    uploadAsset: upload,
    listen: (given: ListenOptions = {}) =>
      listen({ url: `${url}${BUYER}/realtime`, authorization, fetched }, given),
    raw,
  } as unknown as Exchange;
};

const answerOf = ({ status, headers }: Response, body: unknown): Answer<unknown> => {
  const isEnvelope = typeof body === 'object' && body !== null && 'data' in body;
  const { data, meta } = isEnvelope ? (body as { data: unknown; meta?: unknown }) : { data: body };
  return { data, meta, status, headers };
};

/** Paths that are not below `/api/v2/buyer`: openapi-fetch knows one base address. */
const withoutBuyer = async (request: Request, url: string): Promise<Request> => {
  const { method, headers, signal, credentials, cache, redirect, keepalive } = request;
  // As bytes: Chromium refuses the body of a request as that of another one, unless it is sent as a stream.
  const body = isWrite(method) ? await request.arrayBuffer() : undefined;
  const init = { method, headers, signal, credentials, cache, redirect, keepalive };
  const address = url + request.url.slice(url.length + BUYER.length);
  return new Request(address, body === undefined || body.byteLength === 0 ? init : { ...init, body });
};
