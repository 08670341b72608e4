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

/** The call met a channel that was closed. Definite: nothing was sent. */
export class ChannelClosedError extends Error {
  override readonly name = 'ChannelClosedError';

  constructor() {
    super('the channel was closed before the call was sent');
  }
}

/** The client was given up while the call was under way: what it did is not known. */
export class GivenUpError extends Error {
  override readonly name = 'GivenUpError';

  constructor() {
    super('the client was given up during the call');
  }
}

/** No node leads, or none can be used; the message says why. Definite: nothing was sent. */
export class NoLeaderError extends Error {
  override readonly name = 'NoLeaderError';
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

/** What grpc-js says when it had no connection to send the call on. */
const NOT_CONNECTED = /No connection established|Name resolution failed|ECONNREFUSED/;
/** What grpc-js says of a channel that was closed before the call had a connection. */
const CHANNEL_CLOSED = /Channel has been shut down|Channel closed before call started/;
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

/** Not every failure is one of the client's own errors: some come as gRPC made them. */
const codeOf = (error: unknown): { code: number | undefined; text: string } => {
  if (!(error instanceof Error)) return { code: undefined, text: String(error) };
  const code = 'code' in error && typeof error.code === 'number' ? error.code : undefined;
  return { code, text: error.message };
};

/** The stream has no events. */
export const isStreamNotFound = (error: unknown): boolean => error instanceof StreamNotFoundError;

const isNotSent = (error: unknown): boolean =>
  error instanceof ChannelClosedError || error instanceof NoLeaderError;

/** What a failed call says about the node that it was sent to. */
export type NodeDoubt =
  /** The connection is lost or was never made: the next call needs a new one. */
  | 'broken'
  /** The node answers, but does not lead, or not yet. */
  | 'not-leading'
  /** No answer in time, or only that there was none: slow, stopped, cut off from its cluster, or its host is gone. */
  | 'silent';

/** Undefined when the failure is the answer of a node that leads. */
export const doubtOf = (error: unknown): NodeDoubt | undefined => {
  if (error instanceof NotLeaderError) return 'not-leading';
  const { code, text } = codeOf(error);
  if (NOT_HANDLED.test(text)) return 'not-leading';
  if (code === codes.unavailable || isNotSent(error) || CHANNEL_CLOSED.test(text)) return 'broken';
  if (error instanceof SilentServerError) return 'silent';
  const isVague = code === codes.deadlineExceeded || code === codes.aborted || code === codes.cancelled;
  return isVague ? 'silent' : undefined;
};

/** The server does not know the user, or the password is another. */
export const isNotAuthenticated = (error: unknown): boolean => codeOf(error).code === codes.unauthenticated;

/** The user lacks a right. */
export const isNotPermitted = (error: unknown): boolean =>
  codeOf(error).code === codes.permissionDenied ||
  (error instanceof AccessDeniedError && !isNotAuthenticated(error));

/** Text of an error; empty for some of the client's. */
export const messageOf = (error: unknown): string => codeOf(error).text;

/** The node follows no other one and does not lead: an election is under way, there is no majority, or it is starting. */
export const isNotReady = (error: unknown): boolean => NOT_HANDLED.test(messageOf(error));

/** The node that another node calls its leader. */
export const leaderNamedBy = (error: unknown): { address: string; port: number } | undefined =>
  error instanceof NotLeaderError ? error.leader : undefined;

/** For logs: the client's errors carry the whole call with them, and some have no message of their own. */
export const describeFailure = (error: unknown): string => {
  const { code, text } = codeOf(error);
  const type = error instanceof Error ? (isCommandError(error) ? error.type : error.name) : typeof error;
  return `${type}${code === undefined ? '' : ` (${code})`}: ${text === '' ? 'no message' : text}`;
};
