import type { IncomingMessage } from 'node:http';
import { challengeOf, type Site } from './challenge.ts';
import { ApiError } from './errors.ts';
import { foreignPage, isFromForeignPage } from './own-origin.ts';
import type { Principal, Scope } from './principal.ts';
import type { Route, RouteBase } from './route.ts';

type ForbiddingRoute = Pick<RouteBase, 'access' | 'firstParty' | 'resource'> & Pick<Route, 'otherAccess'>;

/** First: before it, an answer must not reveal anything about the input. @throws ApiError FORBIDDEN */
export const refuseForbidden = (
  route: ForbiddingRoute,
  request: IncomingMessage,
  principal: Principal,
  site: Site,
): void => {
  if (route.firstParty === true && isFromForeignPage(request, site.baseUrl())) throw foreignPage();
  refuseScope(route, principal, site);
};

/** @throws ApiError FORBIDDEN */
export const refuseScope = (route: ForbiddingRoute, principal: Principal, site: Site): void => {
  const { access, otherAccess } = route;
  if (access === 'public') return;
  if (access === 'session') {
    if (principal.kind === 'session') return;
    throw noPerson();
  }
  const { scopes } = principal;
  if (scopes.includes(access)) return;
  if (otherAccess !== undefined && scopes.includes(otherAccess)) return;
  throw noScope(access, challengeFor(route, access, principal, site));
};

const noPerson = (): ApiError =>
  new ApiError({
    code: 'FORBIDDEN',
    message: 'Only a signed-in person may send this request. API keys and access tokens cannot.',
  });

const noScope = (scope: Scope, headers: Readonly<Record<string, string>>): ApiError =>
  new ApiError(
    {
      code: 'FORBIDDEN',
      message: `The credential lacks the scope ${scope}. Use a credential with this scope.`,
      details: { scope },
    },
    headers,
  );

/** RFC 6750, 3.1. The scopes of a new token include those of this one, which would be lost otherwise. */
const challengeFor = (
  { resource }: ForbiddingRoute,
  scope: Scope,
  { kind, scopes }: Principal,
  site: Site,
): Readonly<Record<string, string>> => {
  if (kind !== 'access-token') return {};
  const parameters = { error: 'insufficient_scope', scope: [...scopes, scope].join(' ') };
  return { 'WWW-Authenticate': challengeOf(site, resource, parameters) };
};
