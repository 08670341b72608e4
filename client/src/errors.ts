import type { components } from './api.ts';

/** The codes that the service declares. A proxy, or OAuth, may answer with others. */
export type ErrorCode =
  components['schemas']['ErrorEnvelope']['error']['code'] | 'UNEXPECTED_ANSWER' | 'EVENTS_MISSED';

export interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly field?: string;
  readonly details?: unknown;
  readonly requestId?: string;
  readonly retryAfterSeconds?: number;
  readonly idempotencyKey?: string;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** The service answered with an error. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError';
  /** Status of the answer. 0: the error is not an answer (`EVENTS_MISSED`). */
  readonly status: number;
  readonly code: ErrorCode;
  /** Dotted path of the wrong member of the request. */
  readonly field: string | undefined;
  readonly details: unknown;
  /** Quote it to the operator: the service logs every request with its id. */
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** With this key, the same call can be repeated later without a second effect. Absent for reads. */
  readonly idempotencyKey: string | undefined;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.status = refusal.status;
    this.code = refusal.code;
    this.field = refusal.field;
    this.details = refusal.details;
    this.requestId = refusal.requestId;
    this.retryAfterSeconds = refusal.retryAfterSeconds;
    this.idempotencyKey = refusal.idempotencyKey;
  }

  /** True if a write may have taken effect although it failed: repeat it with `idempotencyKey`. */
  get isOutcomeUnknown(): boolean {
    const isUnknown = this.status >= 500 ? this.status !== 501 : this.code === 'UNEXPECTED_ANSWER';
    return this.idempotencyKey !== undefined && isUnknown;
  }
}

/** No answer arrived: the connection failed or timed out. */
export class ExchangeConnectionError extends Error {
  override readonly name = 'ExchangeConnectionError';
  readonly isTimeout: boolean;
  readonly idempotencyKey: string | undefined;

  constructor(cause: unknown, idempotencyKey?: string) {
    const isTimeout = isObject(cause) && cause['name'] === 'TimeoutError';
    super(isTimeout ? 'The service did not answer in time.' : 'The service cannot be reached.', { cause });
    this.isTimeout = isTimeout;
    this.idempotencyKey = idempotencyKey;
  }

  /** True for writes: the service may have received the request. Repeat it with `idempotencyKey`. */
  get isOutcomeUnknown(): boolean {
    return this.idempotencyKey !== undefined;
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/**
 * @param body parsed, or the text if it is not JSON
 * @param idempotencyKey of the request, if it was a write
 */
export const errorOf = (response: Response, body: unknown, idempotencyKey?: string): ExchangeError => {
  const error = isObject(body) ? body['error'] : undefined;
  // OAuth endpoints answer `{"error":"invalid_grant","error_description":...}` (RFC 6749).
  const { code, message, field, details } = isObject(error)
    ? error
    : { code: error, message: isObject(body) ? body['error_description'] : undefined };
  const requestId = response.headers.get('x-request-id');
  const seconds = retryAfterSecondsOf(response);
  return new ExchangeError({
    status: response.status,
    code: (textOf(code) ?? 'UNEXPECTED_ANSWER') as ErrorCode,
    message: textOf(message) ?? `The answer has status ${response.status} and no message.`,
    ...(typeof field === 'string' ? { field } : {}),
    ...(details === undefined ? {} : { details }),
    ...(requestId === null ? {} : { requestId }),
    ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  });
};

/** `Retry-After` in seconds; it may also be a date. */
export const retryAfterSecondsOf = (response: Response): number | undefined => {
  const text = response.headers.get('retry-after');
  if (text === null) return undefined;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
};
