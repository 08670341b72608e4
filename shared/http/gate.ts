import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FailedCredentials } from '../limits/failed-credentials.ts';
import { isOver, type Limiter, type Standing } from '../limits/limiter.ts';
import type { LimitName } from '../limits/limits.ts';
import type { Authenticate, Authentication, CredentialKind } from './authenticate.ts';
import type { ClientAddress } from './client-address.ts';
import { anonymous, type Principal } from './principal.ts';
import { keysRefused, rateLimited, setRateLimitHeaders } from './rate-limit-headers.ts';
import { limitOf, type Route } from './route.ts';

export interface GateOptions {
  readonly authenticate: Authenticate;
  readonly limiter: Limiter;
  readonly failedCredentials: FailedCredentials;
  readonly clientAddress: ClientAddress;
}

/** What is asked of a route to admit a request to it. */
type Admitted = Pick<Route, 'path' | 'access' | 'limit'> & { readonly method: string };

/** What every request passes before anything else looks at it: who calls, and whether too often. */
export interface Gate {
  /**
   * Finds out who calls a route and counts the request where it belongs; the answer gets the headers that say so.
   * Order (decisions.md 1.4): verify the credential, count, refuse, and only then the handler.
   * @throws ApiError UNAUTHORIZED, RATE_LIMITED, or SERVICE_UNAVAILABLE when the credential cannot be looked up
   */
  admit(route: Admitted, request: IncomingMessage, response: ServerResponse): Principal | Promise<Principal>;
  /**
   * Counts a request that no route takes, for its address.
   * @throws ApiError RATE_LIMITED
   */
  countUnrouted(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** The client that limits by address count a request for. */
  readonly clientAddress: ClientAddress;
}

/** What verified last on a connection. */
interface Verified {
  /** The header's text, credential and all: kept for no longer than the connection is open. */
  readonly authorization: string;
  readonly kind: CredentialKind;
  readonly actor: string;
}

/** @throws ApiError RATE_LIMITED */
const tell = (response: ServerResponse, standing: Standing): void => {
  setRateLimitHeaders(response, standing);
  if (isOver(standing)) throw rateLimited(standing);
};

export const createGate = (options: GateOptions): Gate => {
  const { authenticate, limiter, failedCredentials, clientAddress } = options;
  const verifiedLast = new WeakMap<Socket, Verified>();

  const count = async (response: ServerResponse, name: LimitName, subject: string): Promise<void> =>
    tell(response, await limiter.count(name, subject));

  /**
   * Counts a request beside the look-up of its credential, instead of after it, when the same credential verified
   * on the same connection before. The look-up decides all the same. Nobody without the secret can have another's
   * requests counted like that; one that was revoked since is counted for itself once more.
   */
  const countAhead = (request: IncomingMessage, address: string) => {
    const last = verifiedLast.get(request.socket);
    if (last === undefined || last.authorization !== request.headers.authorization) return undefined;
    const { kind, actor } = last;
    if (kind === 'api-key' && !failedCredentials.isKnown(address, actor)) return undefined;
    return { actor, standing: limiter.count('credential', actor) };
  };

  const rememberVerified = (
    { socket, headers: { authorization = '' } }: IncomingMessage,
    kind: CredentialKind,
    actor: string,
  ): void => {
    if (verifiedLast.get(socket)?.authorization === authorization) return;
    verifiedLast.set(socket, { authorization, kind, actor });
  };

  /** A credential that verifies is limited by itself; any other, or none, by its address. */
  const admitCredential = async (request: IncomingMessage, response: ServerResponse): Promise<Principal> => {
    const address = clientAddress(request);
    const ahead = countAhead(request, address);
    let authentication: Authentication;
    try {
      authentication = await authenticate(request);
    } catch (error) {
      verifiedLast.delete(request.socket);
      throw error;
    }
    if (authentication.outcome === 'verified') {
      const { kind, principal } = authentication;
      const { actor } = principal;
      const asked = kind === 'api-key' ? failedCredentials.refusalOf(address, actor) : undefined;
      const refusal = asked instanceof Promise ? await asked : asked;
      if (refusal !== undefined) throw keysRefused(refusal);
      rememberVerified(request, kind, actor);
      tell(response, await (ahead?.actor === actor ? ahead.standing : limiter.count('credential', actor)));
      return principal;
    }
    verifiedLast.delete(request.socket);
    if (authentication.outcome === 'rejected') {
      const refusal = await failedCredentials.countFailure(address);
      // An invalid access token keeps receiving the challenge (specification, Authentication, rule 3).
      if (refusal !== undefined && authentication.kind === 'api-key') throw keysRefused(refusal);
    }
    await count(response, 'address', address);
    throw authentication.challenge;
  };

  const principalOf = async (route: Admitted, request: IncomingMessage): Promise<Principal> => {
    if (route.access === 'public') return anonymous;
    const authentication = await authenticate(request);
    if (authentication.outcome === 'verified') return authentication.principal;
    throw authentication.challenge;
  };

  return {
    admit: (route, request, response) => {
      const limit = limitOf(route);
      if (limit === 'credential') return admitCredential(request, response);
      if (limit === 'none') return route.access === 'public' ? anonymous : principalOf(route, request);
      return count(response, limit, clientAddress(request)).then(() => principalOf(route, request));
    },
    countUnrouted: (request, response) => count(response, 'address', clientAddress(request)),
    clientAddress,
  };
};
