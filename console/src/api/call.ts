import { createClient, ExchangeConnectionError, ExchangeError } from '../../../client/src/index.ts';
import { noteWindow } from './windows.ts';

/** Requests to the public API, by the client of this repository, with the cookie of the session. */

export interface Pagination {
  readonly skip: number;
  readonly take: number;
  readonly total: number;
  readonly hasMore: boolean;
}

export interface Answer<Data> {
  readonly status: number;
  readonly data: Data;
  readonly pagination: Pagination | undefined;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface Call {
  readonly method?: Method;
  readonly path: string;
  readonly query?: Query | undefined;
  readonly body?: unknown;
  /** The same key: the same logical request. */
  readonly key?: string | undefined;
  readonly signal?: AbortSignal;
}

/** A person hardly notices a wait of 3 s. Longer ones are shown instead (`pauses.ts`). */
export const exchange = createClient({
  tries: 5,
  waitSecondsMax: 3,
  fetch: async (...given) => {
    const answer = await fetch(...given);
    noteWindow(answer);
    return answer;
  },
});

/** What the service says of itself, e.g. `/ready`: it has no envelope, no limit counts it, and 503 has a body, too. */
export const readPlain = async <Data>(path: string, signal: AbortSignal): Promise<Data> => {
  const answer = await fetch(path, { signal });
  return (await answer.json()) as Data;
};

interface Init {
  readonly params: { readonly query: Query };
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

/** The screens name the whole path of an object, which is also the key of its read (`query.ts`). */
const byPath = exchange as unknown as {
  answer(method: Lowercase<Method>, path: string, init: Init): Promise<AnswerOfPath>;
  items(path: string, init: Init): AsyncIterable<unknown>;
};

interface AnswerOfPath {
  readonly data: unknown;
  readonly meta: unknown;
  readonly status: number;
}

/** @throws ExchangeError, ExchangeConnectionError */
export const call = async <Data>(request: Call): Promise<Answer<Data>> => {
  const { method = 'GET', path, query = {}, body, key, signal } = request;
  const { data, meta, status } = await byPath.answer(method.toLowerCase() as Lowercase<Method>, path, {
    params: { query: withoutEmpty(query) },
    ...(body === undefined ? {} : { body }),
    ...(key === undefined ? {} : { idempotencyKey: key }),
    ...(signal === undefined ? {} : { signal }),
  });
  const { pagination } = (meta ?? {}) as { readonly pagination?: Pagination };
  return { status, data: data as Data, pagination };
};

const TAKE = 100;

/** The items of a list, page by page. @param itemsMax each page is a request, and requests are limited */
export const readItems = async <Item>(
  path: string,
  query: Query,
  itemsMax: number,
  signal?: AbortSignal,
): Promise<readonly Item[]> => {
  const items: Item[] = [];
  const init = {
    params: { query: { ...withoutEmpty(query), take: TAKE } },
    ...(signal === undefined ? {} : { signal }),
  };
  for await (const item of byPath.items(path, init)) {
    if (items.push(item as Item) >= itemsMax) break;
  }
  return items;
};

const withoutEmpty = (query: Query): Query =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined && value !== ''));

export const addressOf = (path: string, query: Query = {}): string => {
  const search = new URLSearchParams(
    Object.entries(withoutEmpty(query)).map(([name, value]) => [name, String(value)]),
  );
  return search.size === 0 ? path : `${path}?${search.toString()}`;
};

/** A request that was refused, or had no answer, as a person reads it. */
export interface ShownProblem {
  readonly message: string;
  readonly status?: number;
  readonly field?: string | undefined;
  readonly details?: unknown;
  readonly requestId?: string | undefined;
}

export const problemOf = (error: unknown): ShownProblem => {
  if (error instanceof ExchangeConnectionError) return { message: `${error.message} Try again.` };
  if (!(error instanceof ExchangeError)) return { message: 'The page has failed. Load it again.' };
  const { status, field, details, requestId } = error;
  return { message: waitText(error) ?? error.message, status, field, details, requestId };
};

const waitText = ({ status, retryAfterSeconds }: ExchangeError): string | undefined => {
  if (retryAfterSeconds === undefined) return undefined;
  const waitS = Math.ceil(retryAfterSeconds);
  const what = status === 429 ? 'Too many requests' : 'The service is busy';
  const at = new Date(Date.now() + waitS * 1_000).toLocaleTimeString();
  return `${what}. Try again ${waitS > 90 ? `at ${at}` : `in ${waitS} s`}.`;
};
