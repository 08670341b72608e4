import type { Example } from '../../shared/http/examples.ts';

/** Sends a request as someone: with a key, or as a browser with its cookies. */
export type Send = (url: string, init: RequestInit) => Promise<Response>;

export interface ExampleRequest {
  readonly path?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string | number>>;
  /** JSON, a form, or bytes. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the sender of these exchanges. */
  readonly as?: Send;
  /** Of an endless stream, this many blocks are read. */
  readonly blocks?: number;
}

export interface RecordedExample extends Example {
  /** When it was sent. */
  readonly atMs: number;
}

export interface Exchanges {
  /**
   * Calls an operation of the document. Its first call is the example.
   * @returns the body; `data` of an envelope
   * @throws Error if the operation refuses
   */
  call<Data = unknown>(operationId: string, request?: ExampleRequest): Promise<Data>;
  /** Repeats a read until the state is reached; the last answer is the example. */
  until<Data = unknown>(
    operationId: string,
    request: ExampleRequest,
    isReached: (data: Data) => boolean,
  ): Promise<Data>;
  /** In order. */
  readonly recorded: ReadonlyMap<string, RecordedExample>;
  readonly operationIds: readonly string[];
}

interface Operation {
  readonly method: string;
  readonly path: string;
}

type Paths = Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;

const readOperations = async (baseUrl: string): Promise<ReadonlyMap<string, Operation>> => {
  const { paths } = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as { readonly paths: Paths };
  return new Map(
    Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { operationId }]) => [operationId, { method, path }] as const),
    ),
  );
};

export const createExchanges = async (baseUrl: string, sender: () => Send): Promise<Exchanges> => {
  const operations = await readOperations(baseUrl);
  const recorded = new Map<string, RecordedExample>();
  const exchange = async (operationId: string, request: ExampleRequest): Promise<RecordedExample> => {
    const atMs = Date.now();
    const operation = operations.get(operationId);
    if (operation === undefined) throw new Error(`no operation ${operationId}`);
    const answer = await send(baseUrl, operation, request, request.as ?? sender());
    const { path, query, body } = request;
    const example = {
      atMs,
      ...(path !== undefined && { path }),
      ...(query !== undefined && { query }),
      ...(body !== undefined && !(body instanceof Uint8Array) && { body: shownBody(body) }),
      ...answer,
    };
    if (answer.status >= 400) throw new Error(`${operationId}: ${JSON.stringify(example)}`);
    return example;
  };
  const until: Exchanges['until'] = async <Data>(
    operationId: string,
    request: ExampleRequest,
    isReached: (data: Data) => boolean,
  ) => {
    for (let tried = 0; tried < TRIES_MAX; tried += 1) {
      const example = await exchange(operationId, request);
      const data = dataOf(example) as Data;
      if (isReached(data)) {
        if (!recorded.has(operationId)) recorded.set(operationId, example);
        return data;
      }
      await new Promise((next) => setTimeout(next, TRY_EVERY_MS));
    }
    throw new Error(`${operationId} does not reach the state`);
  };
  return {
    recorded,
    operationIds: [...operations.keys()],
    call: <Data>(operationId: string, request: ExampleRequest = {}) =>
      until<Data>(operationId, request, () => true),
    until,
  };
};

const TRIES_MAX = 600;
const TRY_EVERY_MS = 50;

const shownBody = (body: object): unknown =>
  body instanceof URLSearchParams ? Object.fromEntries(body) : body;

const dataOf = ({ answer }: Example): unknown => {
  const isEnvelope = typeof answer === 'object' && answer !== null && 'data' in answer && 'error' in answer;
  return isEnvelope ? answer.data : answer;
};

const send = async (
  baseUrl: string,
  { method, path }: Operation,
  { path: values = {}, query = {}, body, headers = {}, blocks }: ExampleRequest,
  as: Send,
): Promise<Pick<Example, 'status' | 'answer'>> => {
  const url = new URL(
    path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name]))),
    baseUrl,
  );
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  const ending = new AbortController();
  const response = await as(url.href, {
    method: method.toUpperCase(),
    headers: { ...contentTypeOf(body), ...headers },
    redirect: 'manual',
    signal: ending.signal,
    ...(body !== undefined && { body: isSentAsIs(body) ? body : JSON.stringify(body) }),
  });
  const text = blocks === undefined ? await response.text() : await readBlocks(response, blocks);
  ending.abort();
  return { status: response.status, ...answerOf(response, text) };
};

const isSentAsIs = (body: object): body is URLSearchParams | Uint8Array<ArrayBuffer> =>
  body instanceof URLSearchParams || body instanceof Uint8Array;

const contentTypeOf = (body: object | undefined): Readonly<Record<string, string>> => {
  if (body instanceof Uint8Array) return { 'Content-Type': 'application/octet-stream' };
  return body === undefined || body instanceof URLSearchParams ? {} : { 'Content-Type': 'application/json' };
};

const answerOf = (response: Response, text: string): Pick<Example, 'answer'> => {
  const type = response.headers.get('content-type') ?? '';
  if (text === '' || response.status >= 300) return {};
  if (type.startsWith('application/json')) return { answer: JSON.parse(text) as unknown };
  if (type.startsWith('text/event-stream')) return { answer: text };
  return /^(?:text\/(?:html|markdown|plain)|application\/yaml)/.test(type)
    ? { answer: beginningOf(text) }
    : {};
};

const LINES_MAX = 2;

/** Of a text of any length. */
const beginningOf = (text: string): string => {
  const lines = text.split('\n').slice(0, LINES_MAX).join('\n');
  return lines.length < text.length ? `${lines}\n…` : lines;
};

const readBlocks = async (response: Response, blocks: number): Promise<string> => {
  const decoder = new TextDecoder();
  let text = '';
  if (blocks === 0) return text;
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes as Uint8Array, { stream: true });
    if (text.split('\n\n').length > blocks) break;
  }
  return `${text.split('\n\n').slice(0, blocks).join('\n\n')}\n\n`;
};

export const withKey =
  (key: string): Send =>
  (url, init) =>
    fetch(url, {
      ...init,
      headers: { ...(init.headers as Record<string, string>), Authorization: `Bearer ${key}` },
    });

/** Keeps cookies, and names the origin of its page. */
export const createBrowser = (origin: string): Send => {
  const jar = new Map<string, { readonly path: string; readonly pair: string }>();
  return async (url, init) => {
    const { pathname } = new URL(url);
    const sent = [...jar.values()].filter(({ path }) => pathname.startsWith(path)).map(({ pair }) => pair);
    const response = await fetch(url, {
      ...init,
      headers: { ...(init.headers as Record<string, string>), Origin: origin, Cookie: sent.join('; ') },
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(/; ?/);
      const path = attributes.find((one) => /^path=/i.test(one))?.slice(5) ?? '/';
      jar.set(`${pair.split('=')[0]} ${path}`, { path, pair });
    }
    return response;
  };
};
