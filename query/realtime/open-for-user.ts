import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../../shared/http/errors.ts';
import type { Principal, Scope } from '../../shared/http/principal.ts';
import { STREAMS_OF_USER_MAX, type OpenStreams, type StreamLease } from '../../shared/limits/open-streams.ts';
import type { Hub, OpenRequest, OpenStream } from './hub.ts';

/** What a stream needs all the time. */
export const STREAM_ACCESS: Scope = 'exchange:read';

export interface UserStreams {
  readonly hub: Hub;
  readonly openStreams: OpenStreams;
  /** As the credential of the request is accepted now; undefined if it is refused. @throws if that is unknown */
  readonly verify: (request: IncomingMessage) => Promise<Principal | undefined>;
}

type StreamWish = Pick<OpenRequest, 'start' | 'texts' | 'sink' | 'begin'>;

/**
 * Opens a stream that counts for its user, and that ends when the response closes or the credential is refused.
 * @throws ApiError 429 if the user has too many
 */
export const openForUser = async (
  { hub, openStreams, verify }: UserStreams,
  request: IncomingMessage,
  response: ServerResponse,
  principal: Principal,
  wanted: StreamWish,
): Promise<OpenStream> => {
  const { customerId, actor, user } = principal;
  let stream: OpenStream | undefined;
  const lease = await openStreams.take({ customerId, userId: user?.id ?? actor }, () => stream?.end('limit'));
  if (lease === undefined) throw tooMany();
  try {
    stream = await hub.open({
      ...wanted,
      customerId,
      isAllowed: async () => isSameReader(await verify(request), principal),
      expiresAtMs: principal.expiresAtMs,
    });
  } catch (error) {
    lease.release();
    throw error;
  }
  whenClosed(response, lease, stream);
  return stream;
};

const whenClosed = (response: ServerResponse, lease: StreamLease, stream: OpenStream): void => {
  const end = (): void => {
    stream.remove();
    lease.release();
  };
  if (response.closed) end();
  else response.once('close', end);
};

const isSameReader = (now: Principal | undefined, { customerId, user }: Principal): boolean =>
  now !== undefined &&
  now.customerId === customerId &&
  now.user?.id === user?.id &&
  now.scopes.includes(STREAM_ACCESS);

const RETRY_SECONDS = 5;

const tooMany = (): ApiError =>
  new ApiError(
    {
      code: 'RATE_LIMITED',
      message: `Your user has ${STREAMS_OF_USER_MAX} realtime streams open, which is the limit. Close one, then repeat the request.`,
      details: { limit: STREAMS_OF_USER_MAX, open: STREAMS_OF_USER_MAX },
    },
    { 'Retry-After': String(RETRY_SECONDS) },
  );
