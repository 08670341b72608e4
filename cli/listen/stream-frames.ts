import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { z } from 'zod';
import { problemText } from '../../app/problem-text.ts';
import { backoffMs, sleep } from '../../shared/async/backoff.ts';
import { timeout } from '../../shared/async/timeout.ts';
import { retryAfterMs } from '../../shared/outbound/retry-after.ts';
import { shownText } from '../../shared/outbound/shown-text.ts';
import { ArgumentsError } from '../parse-args.ts';

export interface StreamOptions {
  /** Address of the stream, with its query. */
  readonly url: URL;
  readonly apiKey: string;
  /** Called before each wait for the next connection. */
  readonly onBreak: (why: string, waitMs: number) => void;
  /** For tests. */
  readonly silenceMsMax?: number;
}

/** The service sends a heartbeat every 15 s: after three missing ones, the connection is dead. */
const SILENCE_MS_MAX = 45_000;
/** Until the service has sent `retry`. */
const RETRY_MS = 1_000;
const BACKOFF = { baseMs: 1_000, capMs: 30_000 };
const RETRY_AFTER_SECONDS_MAX = 600;
const FRAME_CHARACTERS_MAX = 1_000_000;
const MEDIA_TYPE = 'text/event-stream';

/**
 * The frames of the stream, over all its connections. A frame counts as received when the caller asks for the next one:
 * a new connection continues after it. Never ends by itself.
 *
 * @throws ArgumentsError for a topic or advertiser that the service refuses
 * @throws Error if the first connection fails, or the service refuses the API key or has no stream
 */
export async function* streamFrames({
  url,
  apiKey,
  onBreak,
  silenceMsMax = SILENCE_MS_MAX,
}: StreamOptions): AsyncGenerator<EventSourceMessage> {
  const unlessSilent: UnlessSilent = (work) =>
    timeout(silenceMsMax, work, () => new Error(`nothing was received for ${silenceMsMax / 1_000} s`));
  let lastId: string | undefined;
  let retryMs = RETRY_MS;
  let failures = 0;
  let isFirst = true;
  for (;;) {
    const ending = new AbortController();
    let broken: StreamBreak;
    try {
      const answer = await unlessSilent(connect(url, apiKey, lastId, ending.signal));
      if (answer.status === 200) {
        isFirst = false;
        broken = { why: 'the service ended the stream', waitMs: 0 };
        for await (const frame of framesOf(answer, unlessSilent, (ms) => (retryMs = ms))) {
          failures = 0;
          if (frame.event === 'bye') broken = { ...broken, why: `${broken.why} (${reasonOf(frame)})` };
          else yield frame;
          lastId = frame.id ?? lastId;
        }
      } else {
        broken = refusalOf(answer, await unlessSilent(answer.text()), url);
      }
    } catch (error) {
      if (error instanceof RefusedError || error instanceof ArgumentsError) throw error;
      broken = { why: connectionProblem(error), waitMs: 0 };
      if (isFirst) throw new Error(`Cannot reach ${url.origin}: ${broken.why}`, { cause: error });
    } finally {
      ending.abort();
    }
    failures += 1;
    const waitMs = Math.max(retryMs, broken.waitMs, failures === 1 ? 0 : backoffMs(failures, BACKOFF));
    onBreak(broken.why, waitMs);
    await sleep(waitMs);
  }
}

interface StreamBreak {
  readonly why: string;
  /** At least. */
  readonly waitMs: number;
}

/** Another connection would be refused, too. */
class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** A redirect is not followed: the API key is for this address. */
const connect = (
  url: URL,
  apiKey: string,
  lastId: string | undefined,
  signal: AbortSignal,
): Promise<Response> => {
  const headers = {
    Accept: MEDIA_TYPE,
    Authorization: `Bearer ${apiKey}`,
    ...(lastId !== undefined && { 'Last-Event-ID': lastId }),
  };
  return fetch(url, { headers, redirect: 'manual', signal });
};

async function* framesOf(
  answer: Response,
  unlessSilent: UnlessSilent,
  onRetry: (ms: number) => void,
): AsyncGenerator<EventSourceMessage> {
  if (answer.headers.get('content-type')?.startsWith(MEDIA_TYPE) !== true || answer.body === null) {
    throw new RefusedError(`${answer.url} answered without a stream: is --url the address of the service?`);
  }
  let frames: EventSourceMessage[] = [];
  const parser = createParser({
    maxBufferSize: FRAME_CHARACTERS_MAX,
    onRetry,
    onEvent: (frame) => frames.push(frame),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') throw error;
    },
  });
  const decoder = new TextDecoder();
  const reader = answer.body.getReader();
  for (;;) {
    const { done, value } = await unlessSilent(reader.read());
    if (done) return;
    frames = [];
    parser.feed(decoder.decode(value as Uint8Array, { stream: true }));
    yield* frames;
  }
}

/** @throws Error if the work takes too long */
type UnlessSilent = <T>(work: Promise<T>) => Promise<T>;

const Bye = z.object({ reason: z.string() });

const reasonOf = ({ data }: EventSourceMessage): string => Bye.parse(JSON.parse(data)).reason;

/** @throws RefusedError, ArgumentsError unless a later connection may succeed */
const refusalOf = ({ status, headers }: Response, text: string, { origin }: URL): StreamBreak => {
  const said = messageIn(text);
  if (status === 429 || status >= 500) {
    const waitMs = retryAfterMs(headers.get('retry-after'), Date.now(), RETRY_AFTER_SECONDS_MAX);
    return { why: `the service answered ${status}${said === '' ? '' : `: ${said}`}`, waitMs };
  }
  if (status === 400) throw new ArgumentsError(said);
  if (status === 401) throw new RefusedError(`${origin} does not accept the API key. ${said}`.trim());
  if (status === 403) throw new RefusedError(`${origin} does not allow the stream. ${said}`.trim());
  throw new RefusedError(
    `${origin} has no stream (status ${status}): is --url the address of the service? ${said}`.trim(),
  );
};

const Refusal = z.object({ error: z.object({ message: z.string() }) });

const messageIn = (text: string): string => {
  try {
    return shownText(Refusal.parse(JSON.parse(text)).error.message);
  } catch {
    return '';
  }
};

/** `fetch` has the reason of its error as the cause. */
export const connectionProblem = (error: unknown): string =>
  problemText(error instanceof Error && error.cause instanceof Error ? error.cause : error);
