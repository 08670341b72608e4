import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { createClient } from '../../client/src/index.ts';

const Envelope = z.object({
  data: z.unknown(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
});

export interface RequestOptions {
  readonly body?: unknown;
  /** Sent as `application/octet-stream` instead of `body`. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status?: number | readonly number[];
  readonly endpoint?: number;
}

export interface RequestRecord {
  readonly endpoint: number | undefined;
  readonly request: string;
  readonly status: number;
  readonly ms: number;
}

export interface Guide {
  readonly chapter: (title: string) => Promise<void>;
  readonly tell: (text: string) => void;
  /**
   * Prints the request and the answer.
   * @param path below `/api/v2/buyer`, that of the tools, or an absolute URL
   * @throws StumbledError
   */
  readonly ask: <T>(method: string, path: string, schema: z.ZodType<T>, asked?: RequestOptions) => Promise<T>;
  /** Polls without printing until `isDone`. @throws StumbledError after 30 s */
  readonly until: <T>(path: string, schema: z.ZodType<T>, isDone: (data: T) => boolean) => Promise<void>;
  readonly seen: readonly RequestRecord[];
}

export class StumbledError extends Error {
  override readonly name = 'StumbledError';
}

const WAIT_MS_MAX = 30_000;
const WAIT_MS = 200;
/** Rate limit windows of one minute to wait for, per request. */
const WAITS_MAX = 2;
const ANSWER_MS_MAX = 10_000;
const LINES_MAX = 30;

export interface GuideOptions {
  readonly url: string;
  /** Never printed. */
  readonly key: string;
  readonly chapters: number;
  readonly print: (text: string) => void;
  readonly pause: () => Promise<void>;
}

export const createGuide = ({ url, key, chapters, print, pause }: GuideOptions): Guide => {
  let chapter = 0;
  const seen: RequestRecord[] = [];

  const send = createSend(url, key);

  const read = <T>(text: string, schema: z.ZodType<T>, where: string): T => {
    const whole: unknown = text === '' ? { data: null, error: null } : parse(text, where);
    const envelope = Envelope.safeParse(whole);
    const data = schema.safeParse(envelope.success ? envelope.data.data : whole);
    if (!data.success) {
      const members = data.error.issues.map(({ path }) => path.join('.')).join(', ');
      throw new StumbledError(
        `${where}: the answer does not match the API's declaration, at ${members || 'its root'}`,
      );
    }
    return data.data;
  };

  return {
    seen,
    chapter: async (title) => {
      if ((chapter += 1) > 1) await pause();
      print(`\n=== ${chapter} of ${chapters}: ${title} ===\n`);
    },
    tell: (text) => print(`\n${text}\n`),
    ask: async (method, path, schema, asked = {}) => {
      const shown = withoutToken(path);
      print(`\n> ${method} ${path.startsWith('http') ? shown : pathOf(shown)}\n`);
      for (const [name, value] of Object.entries(asked.headers ?? {})) print(`> ${name}: ${value}\n`);
      if (asked.bytes !== undefined) print(`> ${asked.bytes.length} bytes\n`);
      else if (asked.body !== undefined) print(`${indented(JSON.stringify(asked.body, null, 2), '> ')}\n`);
      const startedAt = performance.now();
      const { status, text } = await inTime(print, () => send(method, path, asked));
      const ms = performance.now() - startedAt;
      seen.push({ endpoint: asked.endpoint, request: `${method} ${shown}`, status, ms });
      print(`\n${status}, ${ms.toFixed(1)} ms\n${shortened(text)}\n`);
      const expected = [asked.status ?? 200].flat();
      if (!expected.includes(status)) {
        throw new StumbledError(
          `${method} ${shown} was answered with ${status}, not with ${expected.join(' or ')}${reasonIn(text)}`,
        );
      }
      return read(text, schema, `${method} ${shown}`);
    },
    until: async (path, schema, isDone) => {
      const give = performance.now() + WAIT_MS_MAX;
      for (;;) {
        const { status, text } = await inTime(print, () => send('GET', path, {}));
        if (status === 200 && isDone(read(text, schema, path))) return;
        if (performance.now() > give)
          throw new StumbledError(`${path} did not reach the expected state:\n${text}`);
        await sleep(WAIT_MS);
      }
    },
  };
};

export const TOOLS = '/mcp/v3';

const pathOf = (path: string): string => (path === TOOLS ? path : `/api/v2/buyer${path}`);

type Send = (method: string, path: string, asked: RequestOptions) => Promise<RawAnswer>;

const createSend = (url: string, key: string): Send => {
  // The guide itself waits when the rate limit is reached, and says so.
  const exchange = createClient({ url, apiKey: key, tries: 1, timeoutMs: ANSWER_MS_MAX });
  // The paths of the tour are texts with ids and queries, which it also prints.
  const request = exchange.raw.request as unknown as UntypedRequest;

  const sendByClient = async (method: string, path: string, { body, headers = {} }: RequestOptions) => {
    const { data, error, response } = await request(method, path, { body, headers, parseAs: 'text' });
    const text = response.ok ? data : error;
    return answerOf(
      response,
      typeof text === 'string' ? text : text === undefined ? '' : JSON.stringify(text),
    );
  };

  /** The tools, signed upload addresses and the sandbox agent are not paths of the client. */
  const sendByFetch = async (method: string, path: string, asked: RequestOptions) => {
    const isJson = asked.bytes === undefined && asked.body !== undefined;
    const answer = await fetch(path.startsWith('http') ? path : `${url}${path}`, {
      method,
      headers: {
        // Absolute URLs are signed upload addresses or other hosts: neither may receive the key.
        ...(path.startsWith('http') ? {} : { Authorization: `Bearer ${key}` }),
        ...(isJson ? { 'Content-Type': 'application/json' } : {}),
        ...(asked.bytes === undefined ? {} : { 'Content-Type': 'application/octet-stream' }),
        ...asked.headers,
      },
      body: asked.bytes ?? (isJson ? JSON.stringify(asked.body) : null),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    return answerOf(answer, await answer.text());
  };

  return (method, path, asked) =>
    path === TOOLS || path.startsWith('http')
      ? sendByFetch(method, path, asked)
      : sendByClient(method, path, asked);
};

type UntypedRequest = (
  method: string,
  path: string,
  init: object,
) => Promise<{ readonly data?: unknown; readonly error?: unknown; readonly response: Response }>;

const answerOf = ({ status, headers }: Response, text: string): RawAnswer => ({
  status,
  text,
  retryAfterSeconds: Number(headers.get('retry-after') ?? 1),
});

interface RawAnswer {
  readonly status: number;
  readonly text: string;
  readonly retryAfterSeconds: number;
}

/** Waits for the next window when the key has used up its rate limit before the tour. */
const inTime = async (print: (text: string) => void, send: () => Promise<RawAnswer>): Promise<RawAnswer> => {
  for (let waits = 0; ; waits += 1) {
    const answer = await send();
    if (answer.status !== 429 || waits === WAITS_MAX) return answer;
    print(`\nThe rate limit is reached: the tour continues in ${answer.retryAfterSeconds} s.\n`);
    await sleep(answer.retryAfterSeconds * 1_000);
  }
};

const reasonIn = (text: string): string => {
  try {
    return `: ${Envelope.parse(JSON.parse(text)).error?.message ?? ''}`;
  } catch {
    return '';
  }
};

const parse = (text: string, where: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new StumbledError(`${where} was not answered with JSON: ${text.slice(0, 200)}`);
  }
};

/** An upload's token is a credential: until it expires after 15 minutes it allows an upload. */
const withoutToken = (path: string): string => path.replaceAll(/([?&]token=)[^&"]+/g, '$1...');

const indented = (text: string, with_: string): string => text.replace(/^/gm, with_);

const shortened = (text: string): string => {
  if (text === '') return '(no body)';
  const lines = withoutToken(pretty(text)).split('\n');
  if (lines.length <= LINES_MAX) return lines.join('\n');
  return [...lines.slice(0, LINES_MAX), `... ${lines.length - LINES_MAX} more lines`].join('\n');
};

const pretty = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};
