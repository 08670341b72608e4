import type { Holder } from './principal.ts';

/** Every error code of the API and its status (decisions.md 1.3). The only place where the two meet. */
export const statusOfCode = {
  BAD_REQUEST: 400,
  VALIDATION_ERROR: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  IDEMPOTENCY_CONFLICT: 409,
  IDEMPOTENCY_IN_FLIGHT: 409,
  CONFIRMATION_EXPIRED: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RANGE_NOT_SATISFIABLE: 416,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  NOT_IMPLEMENTED: 501,
  SERVICE_UNAVAILABLE: 503,
} as const;

export type ErrorCode = keyof typeof statusOfCode;

/** `error` of the response envelope (specification, Response envelope). */
export interface ErrorBody {
  readonly code: ErrorCode;
  /** Tells the caller what to do. Never the message of an unexpected error. */
  readonly message: string;
  /** Dotted path of the input at fault. */
  readonly field?: string;
  readonly details?: unknown;
}

/** An answer that is a refusal. Thrown anywhere beneath a route; the kernel writes the envelope. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly body: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;

  constructor(body: ErrorBody, headers: Readonly<Record<string, string>> = {}, cause?: unknown) {
    super(body.message, { cause });
    this.body = body;
    this.headers = headers;
  }

  /** True when it is certain that the command had no effect; else its outcome is unknown. */
  get hadNoEffect(): boolean {
    return this.status < 500;
  }

  get status(): number {
    return statusOfCode[this.body.code];
  }
}

/**
 * The refusal of somebody who is known though the request has no principal: of a credential that was good once, or of
 * one that is good for one thing. For who keeps what an account's credentials were refused.
 */
export class KnownHolderError extends ApiError {
  readonly holder: Holder;
  /** What the credential names that the path does not, as parameters of a path would. */
  readonly names: Readonly<Record<string, string>>;
  private readonly refusal: ApiError;

  constructor(refusal: ApiError, holder: Holder, names: Readonly<Record<string, string>> = {}) {
    super(refusal.body, refusal.headers, refusal.cause);
    this.refusal = refusal;
    this.holder = holder;
    this.names = names;
  }

  override get hadNoEffect(): boolean {
    return this.refusal.hadNoEffect;
  }
}

/** Nobody hears the answer any more (`RequestContext.isUnheard`), and a read has stopped. No failure of anything. */
export class UnheardError extends Error {
  override readonly name = 'UnheardError';

  constructor() {
    super('nobody waits for the answer any more');
  }
}

/**
 * The command was done by an earlier request, and this one may not have its answer. Unlike after any other
 * refusal, its idempotency key is not free.
 */
export class AlreadyDoneError extends ApiError {
  override get hadNoEffect(): boolean {
    return false;
  }
}

/** The same for an absent object and for another account's (decisions.md 1.1, row 12). */
export const notFound = (what: string): ApiError =>
  new ApiError({
    code: 'NOT_FOUND',
    message: `No such ${what}. Check the id; it must belong to your account.`,
  });

/** The request is fine, but the state of the thing forbids it. */
export const conflict = (message: string, field?: string): ApiError =>
  new ApiError({ code: 'CONFLICT', message, ...(field !== undefined && { field }) });

/** A member of the request is at fault. */
export const invalid = (message: string, field: string): ApiError =>
  new ApiError({ code: 'VALIDATION_ERROR', message, field });

/** The id was given out already. */
export const alreadyExists = (what: string): ApiError =>
  conflict(`This ${what} exists already. Read it instead.`);

/** Somebody else has changed it since it was read (decisions.md 1.1, row 26). */
export const staleRevision = (what: string, expectedRevision: number, currentRevision: number): ApiError =>
  new ApiError({
    code: 'CONFLICT',
    message: `The ${what} has changed since that revision. Read it again, then repeat the change.`,
    field: 'expectedRevision',
    details: { expectedRevision, currentRevision },
  });

/** The store did not answer or cannot be reached: the outcome may be unknown, repeating is safe. */
export const unavailable = (message: string, retryAfterSeconds = 1, cause?: unknown): ApiError =>
  new ApiError({ code: 'SERVICE_UNAVAILABLE', message }, { 'Retry-After': String(retryAfterSeconds) }, cause);

/** The command was not carried out, and what stood in its way may be gone for the next attempt. */
export class NotDoneError extends ApiError {
  constructor(message: string, cause?: unknown) {
    super({ code: 'SERVICE_UNAVAILABLE', message }, { 'Retry-After': '1' }, cause);
  }

  override get hadNoEffect(): boolean {
    return true;
  }
}
