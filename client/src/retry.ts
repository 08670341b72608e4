import { ExchangeConnectionError, retryAfterSecondsOf } from './errors.ts';

export interface RetrySettings {
  /** At most 5. */
  readonly tries: number;
  /** Of one try, to the last byte of its answer. Undefined: no bound. */
  readonly timeoutMs: number | undefined;
  /** A longer `Retry-After` is not waited for: the call fails with it. */
  readonly waitSecondsMax: number;
}

export interface Call {
  /** True if sending it twice has one effect: a read, or a write with an idempotency key. */
  readonly isRepeatable: boolean;
  readonly idempotencyKey: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** Sends it once. */
  readonly send: (signal: AbortSignal | undefined) => Promise<Response>;
}

const FIRST_WAIT_MS = 500;
const WAIT_MS_MAX = 8_000;
const JITTER = 0.25;

/**
 * Sends a call until it has a final answer. The last answer is returned as it is, also a refusal.
 * @throws ExchangeConnectionError if the last try had no answer
 */
export const sendWithRetries = async (call: Call, settings: RetrySettings): Promise<Response> => {
  for (let tried = 1; ; tried += 1) {
    const isLast = tried >= settings.tries;
    let wait: number | undefined;
    try {
      const response = await sendOnce(call, settings.timeoutMs);
      if (isLast || !(await mayBeRepeated(call, response))) return response;
      wait = waitMs(tried, retryAfterSecondsOf(response));
      if (wait > settings.waitSecondsMax * 1_000 * (1 + JITTER)) return response;
    } catch (error) {
      call.signal?.throwIfAborted();
      if (isLast || !call.isRepeatable) throw new ExchangeConnectionError(error, call.idempotencyKey);
      wait = waitMs(tried, undefined);
    }
    await pause(wait, call.signal);
  }
};

/** Reads the answer to its end, so that a connection lost in the middle of it is one more failed try. */
const sendOnce = async (call: Call, timeoutMs: number | undefined): Promise<Response> => {
  const signals = [call.signal, timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)];
  const given = signals.filter((signal) => signal !== undefined);
  const response = await call.send(given.length === 0 ? undefined : AbortSignal.any(given));
  const bytes = await response.arrayBuffer();
  const { status, statusText, headers } = response;
  return new Response(bytes.byteLength === 0 ? null : bytes, { status, statusText, headers });
};

/** 429 says that nothing was done. After any other of these the outcome is unknown. */
const mayBeRepeated = async (call: Call, response: Response): Promise<boolean> => {
  if (response.status === 429) return true;
  if (!call.isRepeatable) return false;
  if ([502, 503, 504].includes(response.status)) return true;
  if (response.status !== 409 || !response.headers.has('retry-after')) return false;
  return (await response.clone().text()).includes('"IDEMPOTENCY_IN_FLIGHT"');
};

/** Never shorter than `Retry-After`. The jitter keeps many clients from returning in the same moment. */
const waitMs = (tried: number, retryAfterSeconds: number | undefined): number =>
  retryAfterSeconds === undefined
    ? Math.min(FIRST_WAIT_MS * 2 ** (tried - 1), WAIT_MS_MAX) * (1 - JITTER + 2 * JITTER * Math.random())
    : retryAfterSeconds * 1_000 * (1 + JITTER * Math.random());

/** @throws the reason of the signal when it aborts */
export const pause = async (ms: number, signal: AbortSignal | undefined): Promise<void> => {
  signal?.throwIfAborted();
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
  });
  signal?.throwIfAborted();
};
