import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FailedCredentials } from '../limits/failed-credentials.ts';
import { isOver, type Limiter } from '../limits/limiter.ts';
import type { LimitName } from '../limits/limits.ts';
import type { Authenticate } from './authenticate.ts';
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

/** What every request passes before anything else looks at it: who calls, and whether too often. */
export interface Gate {
  /**
   * Finds out who calls a route and counts the request where it belongs; the answer gets the headers that say so.
   * Order (decisions.md 1.4): verify the credential, count, refuse, and only then the handler.
   * @throws ApiError UNAUTHORIZED, RATE_LIMITED, or SERVICE_UNAVAILABLE when the credential cannot be looked up
   */
  admit(route: Route, request: IncomingMessage, response: ServerResponse): Principal | Promise<Principal>;
  /**
   * Counts a request that no route takes, for its address.
   * @throws ApiError RATE_LIMITED
   */
  countUnrouted(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

export const createGate = (options: GateOptions): Gate => {
  const { authenticate, limiter, failedCredentials, clientAddress } = options;

  const count = async (response: ServerResponse, name: LimitName, subject: string): Promise<void> => {
    const standing = await limiter.count(name, subject);
    setRateLimitHeaders(response, standing);
    if (isOver(standing)) throw rateLimited(standing);
  };

  /** A credential that verifies is limited by itself; any other, or none, by its address. */
  const admitCredential = async (request: IncomingMessage, response: ServerResponse): Promise<Principal> => {
    const address = clientAddress(request);
    const authentication = await authenticate(request);
    if (authentication.outcome === 'verified') {
      const { kind, principal } = authentication;
      const refusal =
        kind === 'api-key' ? await failedCredentials.refusalOf(address, principal.actor) : undefined;
      if (refusal !== undefined) throw keysRefused(refusal);
      await count(response, 'credential', principal.actor);
      return principal;
    }
    if (authentication.outcome === 'rejected') {
      const refusal = await failedCredentials.countFailure(address);
      // An invalid access token keeps receiving the challenge (specification, Authentication, rule 3).
      if (refusal !== undefined && authentication.kind === 'api-key') throw keysRefused(refusal);
    }
    await count(response, 'address', address);
    throw authentication.challenge;
  };

  const principalOf = async (route: Route, request: IncomingMessage): Promise<Principal> => {
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
  };
};
