import {
  AccessDeniedError,
  isCommandError,
  MaxAppendSizeExceededError,
  NotLeaderError,
  StreamDeletedError,
  StreamNotFoundError,
  WrongExpectedVersionError,
} from '@eventstore/db-client';

/** The server took the call and said nothing for as long as it may. */
export class SilentServerError extends Error {
  override readonly name = 'SilentServerError';
}

/** What a failed call means. */
export type Failure =
  /** The stream is at another revision. Definite. */
  | { readonly kind: 'conflict'; readonly actual: number | 'no-stream' }
  /** The append is larger than the server takes; `bytesMax` is its limit, if it said so. Definite. */
  | { readonly kind: 'too-large'; readonly bytesMax?: number }
  /** The server was not reached, or did not take the call on; the same call may succeed soon. Definite. */
  | { readonly kind: 'not-taken' }
  /** The server refuses this call and will do so again. Definite. */
  | { readonly kind: 'refused' }
  /** The position is not one of this log. Definite. */
  | { readonly kind: 'invalid-position' }
  /** The call was, or may have been, under way when it failed. */
  | { readonly kind: 'unknown' };

/** Codes of gRPC, https://grpc.io/docs/guides/status-codes/. */
const codes = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** What grpc-js says when it had no connection to send the call on. */
const NOT_CONNECTED = /No connection established|Name resolution failed|ECONNREFUSED/;
/** Cluster without a leader, or a client that knows no node. The client makes it a plain error. */
const NOT_DISCOVERED = /Failed to discover after/;
/** The server put the request back unread (`NotHandled`). */
const NOT_HANDLED = /Server Is (Not Ready|Too Busy)/i;
const EVENT_TOO_LARGE = /Maximum ?Append ?Event ?Size/i;
const INVALID_POSITION = /invalid position/i;
/** Either side's limit of one message. Sent with an append, it ended the call before its last event. */
const MESSAGE_TOO_LARGE = /message larger than max|max message size/i;

/** What is not known here is an unknown outcome. */
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
  if (error instanceof NotLeaderError) return { kind: 'not-taken' };
  if (error instanceof AccessDeniedError || error instanceof StreamDeletedError) return { kind: 'refused' };
  return failureOfCode(error);
};

const failureOfCode = (error: unknown): Failure => {
  const { code, text } = codeOf(error);
  if (NOT_DISCOVERED.test(text) || NOT_HANDLED.test(text)) return { kind: 'not-taken' };
  if (EVENT_TOO_LARGE.test(text)) return { kind: 'too-large' };
  switch (code) {
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

/** Not every failure is one of the client's own errors: some come as gRPC made them. */
const codeOf = (error: unknown): { code: number | undefined; text: string } => {
  if (!(error instanceof Error)) return { code: undefined, text: String(error) };
  const code = 'code' in error && typeof error.code === 'number' ? error.code : undefined;
  return { code, text: error.message };
};

/** The stream has no events. */
export const isStreamNotFound = (error: unknown): boolean => error instanceof StreamNotFoundError;

/** The server cannot be reached, or its connection was lost. */
export const isUnreachable = (error: unknown): boolean => {
  const { code, text } = codeOf(error);
  return code === codes.unavailable || NOT_DISCOVERED.test(text);
};

/** Nothing was heard from the server in time: slow, stopped, or its host is gone. */
export const isSilence = (error: unknown): boolean =>
  error instanceof SilentServerError || codeOf(error).code === codes.deadlineExceeded;

/** For logs: the client's errors carry the whole call with them, and some have no message of their own. */
export const describeFailure = (error: unknown): string => {
  const { code, text } = codeOf(error);
  const type = error instanceof Error ? (isCommandError(error) ? error.type : error.name) : typeof error;
  return `${type}${code === undefined ? '' : ` (${code})`}: ${text === '' ? 'no message' : text}`;
};
