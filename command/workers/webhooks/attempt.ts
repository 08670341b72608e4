import type { KeptNotification } from '../../../domain/notifications/body.ts';
import { nextAttemptMs, RETRY_AFTER_MS_MAX } from '../../../domain/webhooks/retry-times.ts';
import { failpoint } from '../../../shared/async/failpoints.ts';
import type { Clock } from '../../../shared/async/clock.ts';
import type { OutboundPosts, PostAnswer } from '../../../shared/outbound/outbound-posts.ts';
import { retryAfterMs } from '../../../shared/outbound/retry-after.ts';
import type { DueDelivery, Endpoint, SubscriptionKey } from './delivery-rows.ts';
import type { BodyOf } from './message-body.ts';
import type { Attempt, Outcome } from './settle-outcomes.ts';
import { signedHeaders, type Secrets } from './sign.ts';

export interface AttemptOptions {
  readonly posts: OutboundPosts;
  readonly clock: Clock;
  readonly bodyOf: BodyOf;
}

/** The endpoint as one run uses it. */
export interface Receiver extends SubscriptionKey, Pick<Endpoint, 'url' | 'payload' | 'authentication'> {
  readonly secrets: Secrets;
}

const USER_AGENT = 'buyer-exchange/1';

/** The endpoint asks for fewer requests, or a server before it cannot reach it. */
const SLOW_STATUS: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** RFC 6585, 4 and RFC 9110, 15.6.4. */
const LATER: ReadonlySet<number> = new Set([429, 503]);

export const GONE = 410;

/** The trace is the message's: all its attempts, at all endpoints. */
const traceparentOf = ({ id }: KeptNotification, delivery: DueDelivery): string => {
  const span = `${delivery.id.replaceAll('-', '').slice(0, 12)}${(delivery.attempts + 1).toString(16).padStart(4, '0')}`;
  return `00-${id.replaceAll('-', '')}-${span}-01`;
};

/** @throws the signal's reason: then the outcome is unknown */
export const attemptDelivery = async (
  { posts, clock, bodyOf }: AttemptOptions,
  receiver: Receiver,
  delivery: DueDelivery,
  message: KeptNotification,
  signal: AbortSignal,
): Promise<Outcome> => {
  const { customerId, subscriptionId, url, payload, secrets } = receiver;
  const body = await bodyOf(customerId, message, payload);
  const timestamp = Math.floor(clock.now() / 1_000);
  const headers = {
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    traceparent: traceparentOf(message, delivery),
    ...signedHeaders(secrets, receiver.authentication === 'bearer', {
      id: `msg_${message.id}`,
      timestamp,
      body,
    }),
  };
  failpoint('webhook-before-send');
  const startedAt = performance.now();
  const answer = await posts.post({ receiver: subscriptionId, url, headers, body }, signal);
  const durationMs = performance.now() - startedAt;
  failpoint('webhook-after-send');
  signal.throwIfAborted();
  const attempt = attemptOf(startedAt, durationMs, answer, secrets);
  return outcomeOf(receiver, delivery, attempt, waitOf(answer, clock));
};

const waitOf = (answer: PostAnswer, clock: Clock): number => {
  if ('failure' in answer || !LATER.has(answer.status)) return 0;
  return retryAfterMs(answer.retryAfter ?? null, clock.now(), RETRY_AFTER_MS_MAX / 1_000);
};

const attemptOf = (startedAt: number, durationMs: number, answer: PostAnswer, secrets: Secrets): Attempt => {
  if ('failure' in answer) {
    return { startedAt, durationMs, status: undefined, error: answer.failure, head: undefined };
  }
  const { status, head } = answer;
  const error = status >= 200 && status < 300 ? undefined : 'status';
  return { startedAt, durationMs, status, error, head: shownHead(head, secrets) };
};

/** Valid text without NUL, which Postgres refuses, and without the secrets, which a receiver may echo. */
const shownHead = (head: Buffer, secrets: Secrets): string => {
  if (head.length === 0) return '';
  // A stream's decoder leaves out a character that the cut has split.
  const text = new TextDecoder().decode(head, { stream: true }).replaceAll('\0', '\uFFFD');
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '[secret]'), text);
};

const outcomeOf = (
  { customerId, subscriptionId }: Receiver,
  { id: deliveryId, attempts, roundBeganAt }: DueDelivery,
  attempt: Attempt,
  waitMs: number,
): Outcome => {
  const { status, error } = attempt;
  const isDelivered = error === undefined;
  const isSlow = !isDelivered && (status === undefined || SLOW_STATUS.has(status));
  const dueMs =
    isDelivered || status === GONE
      ? undefined
      : nextAttemptMs(attempts + 1 - roundBeganAt, waitMs, Math.random());
  return {
    customerId,
    subscriptionId,
    deliveryId,
    attempts,
    roundBeganAt,
    attempt,
    state: isDelivered ? 'delivered' : dueMs === undefined ? 'failed' : 'due',
    dueMs: dueMs ?? 0,
    slowMs: isSlow ? waitMs : undefined,
  };
};
