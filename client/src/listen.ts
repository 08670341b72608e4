import { createFrameParser, type Frame } from './event-stream.ts';
import { errorOf, ExchangeError, retryAfterSecondsOf } from './errors.ts';
import { pause } from './retry.ts';
import type { ExchangeEvent } from './webhook.ts';

export interface ListenOptions {
  /** Types of events, e.g. `campaign.created`; all of a resource are `campaign.*`. Default: all. */
  readonly topics?: readonly string[];
  readonly advertiserId?: number;
  /** Continue after this position of an earlier stream. */
  readonly after?: string;
  /** Where a stream without `after` begins: `earliest` are all events of the last 30 days. Default: `now`. */
  readonly since?: 'now' | 'earliest';
  /**
   * Called when conversion events of the account were counted, at most about once a second. They are no events of the
   * stream, and after a break it is not called for what was missed.
   */
  readonly onConversions?: () => void;
  /** Called with each new position, also if no event came. Store it, to continue after it. */
  readonly onPosition?: (position: string) => void;
  /**
   * Called if the position is older than the events that are kept: read your resources again. Without it the stream
   * ends with an `ExchangeError` of code `EVENTS_MISSED`.
   */
  readonly onMissed?: () => void;
  /** Called when a connection is open. */
  readonly onOpen?: () => void;
  /** Called when a connection breaks, or cannot be opened, unless the service has announced its end. */
  readonly onLost?: () => void;
  /** Ends the stream. */
  readonly signal?: AbortSignal;
}

export interface Position {
  /** Pass it as `after`, to continue after this event. */
  readonly position: string;
}

interface ListenAt {
  readonly url: string;
  readonly authorization: () => Promise<Readonly<Record<string, string>>>;
  readonly fetched: typeof globalThis.fetch;
}

/** The service sends a comment every 15 s. */
const SILENT_MS_MAX = 45_000;
const WAIT_MS = 1_000;
const WAIT_MS_MAX = 30_000;
const JITTER = 0.25;
/** No repeat can succeed after these. */
const FINAL = [400, 401, 403, 404];

const urlOf = (url: string, { topics, advertiserId, since, onConversions }: ListenOptions): string => {
  const query = new URLSearchParams();
  if (topics !== undefined) query.set('topics', topics.join(','));
  if (advertiserId !== undefined) query.set('advertiserId', String(advertiserId));
  if (since !== undefined) query.set('since', since);
  if (onConversions !== undefined) query.set('conversions', 'true');
  return query.size === 0 ? url : `${url}?${query}`;
};

/**
 * Events as they happen, over any number of connections. Ends without an error when the signal aborts.
 * @throws ExchangeError for an answer that no repeat changes, e.g. a key that was revoked
 */
export const listen = async function* (
  at: ListenAt,
  options: ListenOptions,
): AsyncIterableIterator<ExchangeEvent & Position> {
  const url = urlOf(at.url, options);
  let position = options.after;
  let retryMs = WAIT_MS;
  let failures = 0;
  const isAborted = (): boolean => options.signal?.aborted === true;
  while (!isAborted()) {
    let waitSeconds = 0;
    let isAnnounced = false;
    // Also aborted when the caller leaves the loop, which closes the connection.
    const connection = new AbortController();
    const end = (): void => connection.abort(options.signal?.reason);
    options.signal?.addEventListener('abort', end);
    try {
      const response = await connect(at, url, position, connection.signal);
      if (FINAL.includes(response.status))
        throw errorOf(response, await response.json().catch(() => undefined));
      waitSeconds = retryAfterSecondsOf(response) ?? 0;
      if (response.status === 200) {
        options.onOpen?.();
        for await (const frame of framesOf(response, connection, (ms) => (retryMs = ms))) {
          failures = 0;
          if (frame.id !== undefined) {
            position = frame.id;
            options.onPosition?.(position);
          }
          if (frame.event === 'bye') isAnnounced = true;
          if (frame.event === 'conversions') options.onConversions?.();
          if (frame.event === 'reset') missed(options);
          else if (frame.event.includes('.')) {
            yield { ...(JSON.parse(frame.data) as ExchangeEvent), position: frame.id ?? position ?? '' };
          }
        }
      }
    } catch (error) {
      // The connection broke: the next one continues.
      if (error instanceof ExchangeError) throw error;
    } finally {
      options.signal?.removeEventListener('abort', end);
      connection.abort();
    }
    if (!isAnnounced && !isAborted()) options.onLost?.();
    const backOffMs = Math.min(retryMs * 2 ** failures, Math.max(WAIT_MS_MAX, retryMs));
    failures += 1;
    await pause(
      Math.max(backOffMs, waitSeconds * 1_000) * (1 + JITTER * Math.random()),
      options.signal,
    ).catch(() => undefined);
  }
};

const missed = ({ onMissed }: ListenOptions): void => {
  if (onMissed !== undefined) return onMissed();
  const message = 'Events were missed: the position is older than what the service keeps.';
  throw new ExchangeError({ status: 0, code: 'EVENTS_MISSED', message });
};

const connect = async (
  { authorization, fetched }: ListenAt,
  url: string,
  position: string | undefined,
  signal: AbortSignal,
): Promise<Response> =>
  fetched(url, {
    headers: {
      Accept: 'text/event-stream',
      ...(await authorization()),
      ...(position === undefined ? {} : { 'Last-Event-ID': position }),
    },
    signal,
  });

/** The frames of one connection. Ends it if nothing arrives for too long. */
const framesOf = async function* (
  { body }: Response,
  connection: AbortController,
  onRetryMs: (ms: number) => void,
): AsyncIterableIterator<Frame> {
  if (body === null) return;
  let frames: Frame[] = [];
  const parse = createFrameParser({ onFrame: (frame) => frames.push(frame), onRetryMs });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  // A read that waits while the connection is aborted is not settled by every `fetch`.
  connection.signal.addEventListener('abort', () => void reader.cancel().catch(() => undefined));
  for (;;) {
    const timer = setTimeout(() => connection.abort(), SILENT_MS_MAX);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    parse(decoder.decode(value, { stream: true }));
    const read = frames;
    frames = [];
    yield* read;
  }
};
