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

type CountedRoute = Pick<Route, 'path' | 'access' | 'limit'> & { readonly method: string };

export interface Gate {
  /** @throws ApiError UNAUTHORIZED, RATE_LIMITED, SERVICE_UNAVAILABLE */
  admit(
    route: CountedRoute,
    request: IncomingMessage,
    response: ServerResponse,
  ): Principal | Promise<Principal>;
  /** @throws ApiError RATE_LIMITED */
  countUnrouted(request: IncomingMessage, response: ServerResponse): Promise<void>;
  readonly clientAddress: ClientAddress;
}

interface LastCredential {
  /** Contains the secret; kept only while the connection is open. */
  readonly authorization: string;
  readonly kind: CredentialKind;
  readonly actor: string;
}

const applyStanding = (response: ServerResponse, standing: Standing): void => {
  setRateLimitHeaders(response, standing);
  if (isOver(standing)) throw rateLimited(standing);
};

export const createGate = (options: GateOptions): Gate => {
  const { authenticate, limiter, failedCredentials, clientAddress } = options;
  const verifiedLast = new WeakMap<Socket, LastCredential>();

  const count = async (response: ServerResponse, name: LimitName, subject: string): Promise<void> =>
    applyStanding(response, await limiter.count(name, subject));

  // Counts during the lookup if the same credential verified before on this connection: a caller without the
  // secret cannot cause counts for it.
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
      applyStanding(
        response,
        await (ahead?.actor === actor ? ahead.standing : limiter.count('credential', actor)),
      );
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

  const principalOf = async (route: CountedRoute, request: IncomingMessage): Promise<Principal> => {
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
