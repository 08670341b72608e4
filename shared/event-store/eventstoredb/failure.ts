import {
  AccessDeniedError,
  isCommandError,
  MaxAppendSizeExceededError,
  NotLeaderError,
  StreamDeletedError,
  StreamNotFoundError,
  WrongExpectedVersionError,
} from '@eventstore/db-client';

/** The server received the call and did not answer in time. */
export class SilentServerError extends Error {
  override readonly name = 'SilentServerError';
}

/** Nothing was sent. */
export class ChannelClosedError extends Error {
  override readonly name = 'ChannelClosedError';

  constructor() {
    super('the channel was closed before the call was sent');
  }
}

/** The client was discarded during the call. The outcome is unknown. */
export class GivenUpError extends Error {
  override readonly name = 'GivenUpError';

  constructor() {
    super('the client was given up during the call');
  }
}

export class NoLeaderError extends Error {
  override readonly name = 'NoLeaderError';
}

export type Failure =
  | { readonly kind: 'conflict'; readonly actual: number | 'no-stream' }
  | { readonly kind: 'too-large'; readonly bytesMax?: number }
  /** The server was not reached or did not process the call. A retry may succeed soon. */
  | { readonly kind: 'not-taken' }
  /** A retry would be rejected, too. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'invalid-position' }
  /** The call was, or may have been, in progress when it failed. */
  | { readonly kind: 'unknown' };

/** https://grpc.io/docs/guides/status-codes/ */
const codes = {
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  permissionDenied: 7,
  resourceExhausted: 8,
  aborted: 10,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const;

const NOT_CONNECTED = /No connection established|Name resolution failed|ECONNREFUSED/;
const CHANNEL_CLOSED = /Channel has been shut down|Channel closed before call started/;
/** The server returned the request unread (`NotHandled`). */
const NOT_HANDLED = /Server Is (Not Ready|Too Busy)/i;
const EVENT_TOO_LARGE = /Maximum ?Append ?Event ?Size/i;
const INVALID_POSITION = /invalid position/i;
/** Either side's limit ended the append before its last event. */
const MESSAGE_TOO_LARGE = /message larger than max|max message size/i;

export const failureOf = (error: unknown): Failure => {
  if (error instanceof WrongExpectedVersionError) {
    const { actualVersion } = error;
    return {
      kind: 'conflict',
      actual: typeof actualVersion === 'bigint' ? Number(actualVersion) : 'no-stream',
    };
  }
  if (error instanceof MaxAppendSizeExceededError) {
    const { maxAppendSize } = error;
    return { kind: 'too-large', ...(maxAppendSize > 0 && { bytesMax: maxAppendSize }) };
  }
  if (isNotSent(error) || error instanceof NotLeaderError) return { kind: 'not-taken' };
  if (error instanceof AccessDeniedError || error instanceof StreamDeletedError) return { kind: 'refused' };
  return failureOfCode(error);
};

const failureOfCode = (error: unknown): Failure => {
  const { code, text } = codeOf(error);
  if (CHANNEL_CLOSED.test(text) || NOT_HANDLED.test(text)) return { kind: 'not-taken' };
  if (EVENT_TOO_LARGE.test(text)) return { kind: 'too-large' };
  switch (code ?? 0) {
    case codes.unavailable:
      return NOT_CONNECTED.test(text) ? { kind: 'not-taken' } : { kind: 'unknown' };
    case codes.invalidArgument:
      return INVALID_POSITION.test(text) ? { kind: 'invalid-position' } : { kind: 'refused' };
    case codes.resourceExhausted:
      return MESSAGE_TOO_LARGE.test(text) ? { kind: 'too-large' } : { kind: 'unknown' };
    case codes.permissionDenied:
    case codes.unauthenticated:
    case codes.unimplemented:
      return { kind: 'refused' };
    default:
      return { kind: 'unknown' };
  }
};

/** Some failures are plain gRPC errors instead of the client's own error types. */
const codeOf = (error: unknown): { code: number | undefined; text: string } => {
  if (!(error instanceof Error)) return { code: undefined, text: String(error) };
  const code = 'code' in error && typeof error.code === 'number' ? error.code : undefined;
  return { code, text: error.message };
};

export const isStreamNotFound = (error: unknown): boolean => error instanceof StreamNotFoundError;

const isNotSent = (error: unknown): boolean =>
  error instanceof ChannelClosedError || error instanceof NoLeaderError;

export type NodeDoubt =
  /** The connection was lost or never made: the next call needs a new one. */
  | 'broken'
  /** The node answers, but does not lead, or does not lead yet. */
  | 'not-leading'
  /** Slow, stopped, isolated from its cluster, or its host is down. */
  | 'silent';

/** Undefined if a leading node answered. */
export const doubtOf = (error: unknown): NodeDoubt | undefined => {
  if (error instanceof NotLeaderError) return 'not-leading';
  const { code, text } = codeOf(error);
  if (NOT_HANDLED.test(text)) return 'not-leading';
  if (code === codes.unavailable || isNotSent(error) || CHANNEL_CLOSED.test(text)) return 'broken';
  if (error instanceof SilentServerError) return 'silent';
  const isVague = code === codes.deadlineExceeded || code === codes.aborted || code === codes.cancelled;
  return isVague ? 'silent' : undefined;
};

export const isNotAuthenticated = (error: unknown): boolean => codeOf(error).code === codes.unauthenticated;

export const isNotPermitted = (error: unknown): boolean =>
  codeOf(error).code === codes.permissionDenied ||
  (error instanceof AccessDeniedError && !isNotAuthenticated(error));

/** Empty for some errors of the client. */
export const messageOf = (error: unknown): string => codeOf(error).text;

/** An election is in progress, there is no majority, or the node is starting. */
export const isNotReady = (error: unknown): boolean => NOT_HANDLED.test(messageOf(error));

export const leaderNamedBy = (error: unknown): { address: string; port: number } | undefined =>
  error instanceof NotLeaderError ? error.leader : undefined;

/** For logs: the client's errors contain the whole call, and some have no message. */
export const describeFailure = (error: unknown): string => {
  const { code, text } = codeOf(error);
  const type = error instanceof Error ? (isCommandError(error) ? error.type : error.name) : typeof error;
  return `${type}${code === undefined ? '' : ` (${code})`}: ${text === '' ? 'no message' : text}`;
};
