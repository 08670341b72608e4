import type { Holder } from './principal.ts';

/** All error codes of the API with their status (decisions.md 1.3). */
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
  /** Tells the client what to do. Never the message of an unexpected error. */
  readonly message: string;
  /** Dotted path of the input at fault. */
  readonly field?: string;
  readonly details?: unknown;
}

/** A refusal, thrown by any code of a route. The kernel writes the envelope. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly body: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;

  constructor(body: ErrorBody, headers: Readonly<Record<string, string>> = {}, cause?: unknown) {
    super(body.message, { cause });
    this.body = body;
    this.headers = headers;
  }

  /** True if the command certainly had no effect; otherwise its outcome is unknown. */
  get hadNoEffect(): boolean {
    return this.status < 500;
  }

  get status(): number {
    return statusOfCode[this.body.code];
  }
}

/** A refusal for the account's log although the request has no principal, e.g. with a revoked credential. */
export class KnownHolderError extends ApiError {
  readonly holder: Holder;
  /** Values from the credential that the path does not contain, named like path parameters. */
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

/** A read stopped because its client is gone. Not a failure. */
export class UnheardError extends Error {
  override readonly name = 'UnheardError';

  constructor() {
    super('the client no longer waits for the answer');
  }
}

/** An earlier request ran the command, so the idempotency key stays claimed. */
export class AlreadyDoneError extends ApiError {
  override get hadNoEffect(): boolean {
    return false;
  }
}

/** The same for a missing object and another account's (decisions.md 1.1, row 12). */
export const notFound = (what: string): ApiError =>
  new ApiError({
    code: 'NOT_FOUND',
    message: `No such ${what}. Check the id; it must belong to your account.`,
  });

export const conflict = (message: string, field?: string): ApiError =>
  new ApiError({ code: 'CONFLICT', message, ...(field !== undefined && { field }) });

export const invalid = (message: string, field: string): ApiError =>
  new ApiError({ code: 'VALIDATION_ERROR', message, field });

export const alreadyExists = (what: string): ApiError =>
  conflict(`This ${what} exists already. Read it instead.`);

/** The resource has changed since it was read (decisions.md 1.1, row 26). */
export const staleRevision = (what: string, expectedRevision: number, currentRevision: number): ApiError =>
  new ApiError({
    code: 'CONFLICT',
    message: `The ${what} has changed since that revision. Read it again, then repeat the change.`,
    field: 'expectedRevision',
    details: { expectedRevision, currentRevision },
  });

/** A store did not answer: the outcome may be unknown. Retry-After in whole seconds. */
export const unavailable = (message: string, retryAfterSeconds = 1, cause?: unknown): ApiError =>
  new ApiError({ code: 'SERVICE_UNAVAILABLE', message }, { 'Retry-After': String(retryAfterSeconds) }, cause);

/** The command had no effect, and a retry may succeed. */
export class NotDoneError extends ApiError {
  constructor(message: string, cause?: unknown) {
    super({ code: 'SERVICE_UNAVAILABLE', message }, { 'Retry-After': '1' }, cause);
  }

  override get hadNoEffect(): boolean {
    return true;
  }
}
