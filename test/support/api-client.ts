import { sleep } from '../../shared/async/backoff.ts';
import type { ErrorBody } from '../../shared/http/errors.ts';
import type { Pagination } from '../../shared/http/route.ts';

/** An answer of the API: its parsed envelope, and its text for byte comparisons. */
export interface ApiAnswer<Data> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: ApiEnvelope<Data>;
}

export interface ApiEnvelope<Data> {
  readonly data: Data;
  readonly error: ErrorBody | null;
  readonly meta: { readonly pagination: Pagination };
}

type RequestHeaders = Readonly<Record<string, string>>;

/** Sends requests to paths below `/api/v2/buyer`. A text body is sent unchanged, any other as JSON. */
export interface Api {
  get<Data = unknown>(path: string, headers?: RequestHeaders): Promise<ApiAnswer<Data>>;
  post<Data = unknown>(path: string, body?: unknown, headers?: RequestHeaders): Promise<ApiAnswer<Data>>;
  put<Data = unknown>(path: string, body?: unknown, headers?: RequestHeaders): Promise<ApiAnswer<Data>>;
  delete<Data = unknown>(path: string, headers?: RequestHeaders): Promise<ApiAnswer<Data>>;
}

/**
 * @param baseUrl a function selects the process of each request
 * @param credential the headers that authenticate the caller
 */
export const apiOf = (baseUrl: string | (() => string), credential: RequestHeaders = {}): Api => {
  const send = async <Data>(
    method: string,
    path: string,
    body?: unknown,
    headers: RequestHeaders = {},
  ): Promise<ApiAnswer<Data>> => {
    const origin = typeof baseUrl === 'string' ? baseUrl : baseUrl();
    const answer = await fetch(`${origin}/api/v2/buyer${path}`, {
      method,
      headers: { 'Content-Type': 'application/json', ...credential, ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      body: (text === '' ? {} : JSON.parse(text)) as ApiEnvelope<Data>,
    };
  };
  return {
    get: (path, headers) => send('GET', path, undefined, headers),
    post: (path, body, headers) => send('POST', path, body, headers),
    put: (path, body, headers) => send('PUT', path, body, headers),
    delete: (path, headers) => send('DELETE', path, undefined, headers),
  };
};

const REPEATS_MAX = 300;
const REPEAT_EVERY_MS = 100;

/**
 * Repeats the request with the same idempotency key until the outcome is known, as clients must. On a busy machine, any
 * request may need it.
 */
export const untilDefinite = async <Data>(
  send: () => Promise<ApiAnswer<Data>>,
  everyMs = REPEAT_EVERY_MS,
): Promise<ApiAnswer<Data>> => {
  for (let repeats = 0; ; repeats += 1) {
    const answer = await send();
    const isUnknown =
      answer.status === 503 || (answer.status >= 400 && answer.body.error?.code === 'IDEMPOTENCY_IN_FLIGHT');
    if (!isUnknown || repeats === REPEATS_MAX) return answer;
    await sleep(everyMs);
  }
};

/** Status, code and field of a refusal, for one comparison. */
export const refusalOf = ({
  status,
  body: { error },
}: ApiAnswer<unknown>): readonly [status: number, code: string | undefined, field: string | undefined] => [
  status,
  error?.code,
  error?.field,
];

/** The refusal of one member of the input. */
export const invalid = (field: string) => [400, 'VALIDATION_ERROR', field] as const;
export const conflict = (field?: string) => [409, 'CONFLICT', field] as const;
export const notFound = (field?: string) => [404, 'NOT_FOUND', field] as const;
