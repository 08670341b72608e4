import { randomUUID } from 'node:crypto';
import { request } from 'undici';
import { messageHeaders } from '../../command/workers/webhooks/message-headers.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { timeoutSignal } from '../../shared/async/timeout.ts';
import { connectionProblem } from './stream-frames.ts';

export interface ForwardOptions {
  readonly to: string;
  readonly secret: string;
  /** Sends the secret as `Authorization: Bearer`, too. */
  readonly isBearer: boolean;
}

export interface ForwardOutcome {
  readonly attempts: number;
  /** Duration of the last attempt. */
  readonly durationMs: number;
  /** HTTP status of the last attempt; absent without an answer. */
  readonly status?: number;
  /** Why there was no answer. */
  readonly error?: string;
}

/** As for webhooks. */
const ATTEMPT_MS_MAX = 15_000;
/** A program that restarts after each change of its code does not answer for about a second. */
const WAITS_MS = [200, 500, 1_000];
const GONE = 410;

/** Sends the event until the answer is a 2xx or 410, at most four times. @param messageId UUID */
export const forward = async (
  options: ForwardOptions,
  messageId: string,
  body: Buffer,
): Promise<ForwardOutcome> => {
  const deliveryId = randomUUID();
  for (let attempts = 1; ; attempts += 1) {
    const waitMs = WAITS_MS[attempts - 1];
    const startMs = performance.now();
    const result = await post(options, { messageId, deliveryId, attempt: attempts, body });
    const durationMs = Math.round(performance.now() - startMs);
    const isDone = isDelivered(result) || result.status === GONE;
    if (isDone || waitMs === undefined) return { ...result, attempts, durationMs };
    await sleep(waitMs);
  }
};

export const isDelivered = ({ status = 0 }: Pick<ForwardOutcome, 'status'>): boolean =>
  status >= 200 && status < 300;

interface Attempt {
  readonly messageId: string;
  readonly deliveryId: string;
  readonly attempt: number;
  readonly body: Buffer;
}

const post = async (
  { to, secret, isBearer }: ForwardOptions,
  attempt: Attempt,
): Promise<Pick<ForwardOutcome, 'status' | 'error'>> => {
  const timestamp = Math.floor(Date.now() / 1_000);
  try {
    // Unlike `fetch`, it adds no headers and refuses no ports.
    const { statusCode, body } = await request(to, {
      method: 'POST',
      headers: messageHeaders([secret], isBearer, { ...attempt, timestamp }),
      body: attempt.body,
      signal: timeoutSignal(ATTEMPT_MS_MAX),
    });
    // The status counts, whether or not the body comes.
    await body.dump().catch(() => undefined);
    return { status: statusCode };
  } catch (error) {
    const isLate = error instanceof Error && error.name === 'TimeoutError';
    return { error: isLate ? 'timeout' : connectionProblem(error) };
  }
};
