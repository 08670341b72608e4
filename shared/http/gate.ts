import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FailedCredentials } from '../limits/failed-credentials.ts';
import { isOver, type Limiter, type Standing } from '../limits/limiter.ts';
import type { LimitName } from '../limits/limits.ts';
import type { Authenticate, Authentication } from './authenticate.ts';
import type { ClientAddress } from './client-address.ts';
import { createCountAhead } from './count-ahead.ts';
import { allowAnyOrigin, allowOrigin, varyByOrigin, type BrowserOrigins } from './cors.ts';
import { limitOfPath } from './limit-of.ts';
import { anonymous, type Principal, type VerifiedPrincipal } from './principal.ts';
import { keysRefused, rateLimited, setRateLimitHeaders } from './rate-limit-headers.ts';
import { limitOf, type AdmittedRoute } from './route.ts';

export interface GateOptions {
  readonly authenticate: Authenticate;
  readonly limiter: Limiter;
  readonly failedCredentials: FailedCredentials;
  readonly clientAddress: ClientAddress;
}

export interface Gate {
  /** @throws ApiError UNAUTHORIZED, FORBIDDEN, RATE_LIMITED, SERVICE_UNAVAILABLE */
  admit(
    route: AdmittedRoute,
    request: IncomingMessage,
    response: ServerResponse,
    origins?: BrowserOrigins,
  ): Principal | Promise<Principal>;
  /** @param path of the request, or the pattern that it matched @throws ApiError RATE_LIMITED */
  countUnrouted(request: IncomingMessage, response: ServerResponse, path: string): Promise<void>;
  readonly clientAddress: ClientAddress;
}

type FailedAuthentication = Exclude<Authentication, { readonly outcome: 'verified' }>;

const subjectOf = ({ subject, actor }: VerifiedPrincipal): string => subject ?? actor;

const applyStanding = (response: ServerResponse, standing: Standing): void => {
  setRateLimitHeaders(response, standing);
  if (isOver(standing)) throw rateLimited(standing);
};

type Count = (response: ServerResponse, name: LimitName, subject: string) => Promise<void>;

export const createGate = (options: GateOptions): Gate => {
  const { limiter, clientAddress } = options;
  const count: Count = async (response, name, subject) =>
    applyStanding(response, await limiter.count(name, subject));
  const admitCredential = createAdmitCredential(options, count);
  return {
    admit: (route, request, response, origins) => {
      if (route.anyOrigin === true) allowAnyOrigin(response);
      const limit = limitOf(route);
      if (limit === 'credential') return admitCredential(route, request, response, origins, false);
      const isPublic = route.access === 'public';
      if (limit === 'none') {
        return isPublic ? anonymous : admitCredential(route, request, response, origins, true);
      }
      return count(response, limit, clientAddress(request)).then(() =>
        isPublic ? anonymous : admitCredential(route, request, response, origins, true),
      );
    },
    countUnrouted: async (request, response, path) => {
      const limit = limitOfPath(request.method ?? '', path);
      if (limit !== 'none') await count(response, limit, clientAddress(request));
    },
    clientAddress,
  };
};

/** @param isCounted the request was counted by the route's own limit, or no limit counts it */
type AdmitCredential = (
  route: AdmittedRoute,
  request: IncomingMessage,
  response: ServerResponse,
  origins: BrowserOrigins | undefined,
  isCounted: boolean,
) => Promise<Principal>;

const createAdmitCredential = (options: GateOptions, count: Count): AdmitCredential => {
  const { authenticate, limiter, failedCredentials, clientAddress } = options;
  const countAhead = createCountAhead(limiter, failedCredentials);

  const countFailure = async ({ outcome, kind }: FailedAuthentication, address: string): Promise<void> => {
    if (outcome !== 'rejected') return;
    const refusal = await failedCredentials.countFailure(address);
    // An invalid access token keeps receiving the challenge (specification, Authentication, rule 3).
    if (refusal !== undefined && kind === 'api-key') throw keysRefused(refusal);
  };

  return async ({ resource }, request, response, origins, isCounted) => {
    varyByOrigin(response);
    const address = clientAddress(request);
    const ahead = isCounted ? undefined : countAhead.begin(request, address);
    let authentication: Authentication;
    try {
      authentication = await authenticate(request, resource);
    } catch (error) {
      countAhead.forget(request);
      throw error;
    }
    if (authentication.outcome !== 'verified') {
      countAhead.forget(request);
      await countFailure(authentication, address);
      if (!isCounted) await count(response, 'address', address);
      throw authentication.challenge;
    }
    const { principal } = authentication;
    const { kind } = principal;
    const subject = subjectOf(principal);
    const asked = kind === 'api-key' ? failedCredentials.refusalOf(address, subject) : undefined;
    const refusal = asked instanceof Promise ? await asked : asked;
    if (refusal !== undefined) throw keysRefused(refusal);
    if (origins !== undefined && request.headers.origin !== undefined) {
      await allowOrigin(origins, request, response, principal);
    }
    if (isCounted) return principal;
    if (kind === 'session') {
      await count(response, 'address', address);
      return principal;
    }
    countAhead.remember(request, kind === 'api-key', subject);
    applyStanding(
      response,
      await (ahead?.subject === subject ? ahead.standing : limiter.count('credential', subject)),
    );
    return principal;
  };
};
