import type { KeptNotification } from '../../../domain/notifications/body.ts';
import { nextAttemptMs, RETRY_AFTER_MS_MAX } from '../../../domain/webhooks/retry-times.ts';
import { failpoint } from '../../../shared/async/failpoints.ts';
import type { Clock } from '../../../shared/async/clock.ts';
import type { OutboundPosts, PostAnswer } from '../../../shared/outbound/outbound-posts.ts';
import { retryAfterMs } from '../../../shared/outbound/retry-after.ts';
import type { DueDelivery, Endpoint, SubscriptionKey } from './delivery-rows.ts';
import type { BodyOf } from './message-body.ts';
import { messageHeaders } from './message-headers.ts';
import type { Attempt, Outcome } from './settle-outcomes.ts';
import { shownHead } from './shown-head.ts';
import type { Secrets } from './sign.ts';

export interface AttemptOptions {
  readonly posts: OutboundPosts;
  readonly clock: Clock;
  readonly bodyOf: BodyOf;
}

/** The endpoint as one run uses it. */
export interface Receiver extends SubscriptionKey, Pick<Endpoint, 'url' | 'payload' | 'authentication'> {
  readonly secrets: Secrets;
}

/** The endpoint asks for fewer requests, or a server before it cannot reach it. */
const SLOW_STATUS: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** RFC 6585, 4 and RFC 9110, 15.6.4. */
const LATER: ReadonlySet<number> = new Set([429, 503]);

export const GONE = 410;

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
  const headers = messageHeaders(secrets, receiver.authentication === 'bearer', {
    messageId: message.id,
    deliveryId: delivery.id,
    attempt: delivery.attempts + 1,
    timestamp,
    body,
  });
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
