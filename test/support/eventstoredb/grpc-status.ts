import { Metadata, status, type StatusObject } from '@grpc/grpc-js';

/** Statuses as the server sends them: code, message, and the trailers by which the client distinguishes them. */
export type GrpcStatus = Partial<StatusObject> & Pick<StatusObject, 'code' | 'details'>;

const withTrailers = (
  code: status,
  details: string,
  trailers: Readonly<Record<string, string>>,
): GrpcStatus => {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(trailers)) metadata.set(key, value);
  return { code, details, metadata };
};

export const timedOut: GrpcStatus = {
  code: status.ABORTED,
  details: 'Operation timed out: Prepare phase timeout.',
};
export const unavailable: GrpcStatus = { code: status.UNAVAILABLE, details: 'The server is shutting down.' };
export const notReady: GrpcStatus = { code: status.UNAVAILABLE, details: 'Server Is Not Ready' };
export const cancelled: GrpcStatus = {
  code: status.CANCELLED,
  details: 'Operation cancelled by the server.',
};
export const consumerTooSlow: GrpcStatus = {
  code: status.ABORTED,
  details:
    'Operation timed out: Consumer too slow to handle event while live. Client resubscription required.',
};
export const invalidPosition: GrpcStatus = {
  code: status.INVALID_ARGUMENT,
  details: 'Trying to read from an invalid position.',
};

export const accessDenied: GrpcStatus = withTrailers(status.PERMISSION_DENIED, 'Access Denied', {
  exception: 'access-denied',
});
export const notAuthenticated: GrpcStatus = { code: status.UNAUTHENTICATED, details: 'Unauthenticated' };

export const notLeader = (host: string, port: number): GrpcStatus =>
  withTrailers(status.NOT_FOUND, 'Leader info available', {
    exception: 'not-leader',
    'leader-endpoint-host': host,
    'leader-endpoint-port': String(port),
  });

export const streamDeleted = (stream: string): GrpcStatus =>
  withTrailers(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': stream,
  });

export const wrongExpectedVersion = (stream: string, expected: bigint, actual: bigint): GrpcStatus =>
  withTrailers(
    status.FAILED_PRECONDITION,
    `Delete failed due to WrongExpectedVersion. Stream: ${stream}, Expected version: ${expected}, Actual version: ${actual}`,
    {
      exception: 'wrong-expected-version',
      'stream-name': stream,
      'expected-version': String(expected),
      'actual-version': String(actual),
    },
  );

export const maxAppendSizeExceeded = (bytesMax: number): GrpcStatus =>
  withTrailers(status.INVALID_ARGUMENT, `Maximum Append Size of ${bytesMax} Exceeded.`, {
    exception: 'maximum-append-size-exceeded',
    'maximum-append-size': String(bytesMax),
  });

export const invalidArgument = (details: string): GrpcStatus => ({ code: status.INVALID_ARGUMENT, details });
