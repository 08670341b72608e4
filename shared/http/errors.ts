import type { Holder } from './principal.ts';

/** Specification, Response envelope. */
export const errorCodes = {
  BAD_REQUEST: {
    status: 400,
    meaning: 'The request is not valid HTTP or JSON, or its URL cannot be decoded.',
    remedy: 'Correct the syntax. Do not repeat the same bytes.',
  },
  VALIDATION_ERROR: {
    status: 400,
    meaning: 'An input has a wrong value. `field` is its path.',
    remedy: 'Correct the input that `field` names.',
  },
  UNAUTHORIZED: {
    status: 401,
    meaning: 'The credential is missing, malformed, unknown, expired or revoked.',
    remedy:
      'Send `Authorization: Bearer` with a valid API key or access token, or sign in. For an upload, reserve a new upload URL.',
  },
  FORBIDDEN: {
    status: 403,
    meaning:
      'The credential is valid but lacks the scope or the role for this request, or a page of another origin sent it.',
    remedy: 'Use a credential with the scope that the endpoint lists.',
  },
  NOT_FOUND: {
    status: 404,
    meaning: 'The path or the resource does not exist, or the resource belongs to another account.',
    remedy: 'Check the id and the account of the key.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    meaning: 'The path exists but not with this method. `Allow` lists the methods.',
    remedy: 'Use a listed method.',
  },
  CONFLICT: {
    status: 409,
    meaning: 'The current state of the resource does not permit the change, or `expectedRevision` is stale.',
    remedy: 'Read the resource again, then decide whether to repeat the change.',
  },
  IDEMPOTENCY_CONFLICT: {
    status: 409,
    meaning: 'The Idempotency-Key was already used for a different request.',
    remedy: 'Use a new key for a new request.',
  },
  IDEMPOTENCY_IN_FLIGHT: {
    status: 409,
    meaning: 'The first request with this Idempotency-Key is still running.',
    remedy: 'Wait one second, then repeat the request with the same key.',
  },
  CONFIRMATION_EXPIRED: {
    status: 409,
    meaning: 'The confirmation token is too old, or what it confirms has changed.',
    remedy: 'Repeat the request without the token, read the new preview, then confirm it.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    meaning: 'The body is larger than the endpoint accepts.',
    remedy: 'Send less in one request.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    meaning:
      'The Content-Type or the Content-Encoding is not accepted here, or the uploaded bytes are of another type.',
    remedy: 'Send the media type that the message names.',
  },
  RANGE_NOT_SATISFIABLE: {
    status: 416,
    meaning: 'The Range header asks for bytes after the end of the asset.',
    remedy: 'Read the size from `Content-Range`, or omit Range.',
  },
  RATE_LIMITED: {
    status: 429,
    meaning:
      'Too many requests in this window, or too many uploads or streams at once. The request had no effect.',
    remedy: 'Wait the seconds in `Retry-After`, then repeat it.',
  },
  INTERNAL_ERROR: {
    status: 500,
    meaning: 'A defect of the service. For a write, the outcome is unknown.',
    remedy: 'Report `X-Request-Id`. Repeat a write only with the same Idempotency-Key.',
  },
  NOT_IMPLEMENTED: {
    status: 501,
    meaning: 'The specification has this area; this version does not.',
    remedy: 'Do not repeat it. `/openapi.json` lists what exists.',
  },
  SERVICE_UNAVAILABLE: {
    status: 503,
    meaning:
      'A store does not answer, the service starts or stops, or the deadline passed. For a write, the outcome may be unknown.',
    remedy:
      'Wait the seconds in `Retry-After`, then repeat the request; for a write with the same Idempotency-Key.',
  },
} as const;

export type ErrorCode = keyof typeof errorCodes;

export interface ErrorBody {
  readonly code: ErrorCode;
  /** Never the message of an unexpected error. */
  readonly message: string;
  readonly field?: string;
  readonly details?: unknown;
}

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly body: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;

  constructor(body: ErrorBody, headers: Readonly<Record<string, string>> = {}, cause?: unknown) {
    super(body.message, { cause });
    this.body = body;
    this.headers = headers;
  }

  get hadNoEffect(): boolean {
    return this.status < 500;
  }

  get status(): number {
    return errorCodes[this.body.code].status;
  }
}

/** For the account's log although the request has no principal, e.g. with a revoked credential. */
export class KnownHolderError extends ApiError {
  readonly holder: Holder;
  /** From the credential, named like path parameters. */
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
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';

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

/** A missing object and another account's are not distinguished. */
export const notFound = (what: string): ApiError =>
  new ApiError({
    code: 'NOT_FOUND',
    message: `No such ${what}. Check the id; it must belong to your account.`,
  });

/** For what all accounts read. @param list where to find ids */
export const notListed = (what: string, list: string, field?: string): ApiError =>
  new ApiError({
    code: 'NOT_FOUND',
    message: `No such ${what}. ${list} lists those that exist.`,
    ...(field !== undefined && { field }),
  });

export const conflict = (message: string, field?: string): ApiError =>
  new ApiError({ code: 'CONFLICT', message, ...(field !== undefined && { field }) });

export const invalid = (message: string, field: string): ApiError =>
  new ApiError({ code: 'VALIDATION_ERROR', message, field });

export const alreadyExists = (what: string): ApiError =>
  conflict(`This ${what} exists already. Read it instead.`);

export const staleRevision = (what: string, expectedRevision: number, currentRevision: number): ApiError =>
  new ApiError({
    code: 'CONFLICT',
    message: `The ${what} has changed since that revision. Read it again, then repeat the change.`,
    field: 'expectedRevision',
    details: { expectedRevision, currentRevision },
  });

/** The outcome may be unknown. */
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
