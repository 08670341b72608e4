import { z } from 'zod';
import { ConsentDecision, ConsentRequest } from '../../../domain/accounts/connected-app.ts';
import { boundedText } from '../../../domain/values.ts';
import { ofRequest } from '../../../shared/aggregate/handler-for.ts';
import { route, type AnyRoute, type HandedOverRoute, type Route } from '../../../shared/http/route.ts';
import type { AuthorizationServer, OAuthEndpoint } from './authorization-server.ts';
import { decideConsent, describeConsent, type ConsentSubject, type ConsentOptions } from './consent.ts';
import { revokeGrantFor } from './grants.ts';
import type { GrantWrites } from './handler.ts';
import { METADATA_PATH } from './provider.ts';
import {
  Client,
  ClientMetadata,
  Metadata,
  RevocationRequest,
  TokenRequest,
  Tokens,
} from './protocol-bodies.ts';

const tag = 'OAuth';
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

export const oauthRoutes = (
  server: AuthorizationServer,
  consent: Omit<ConsentOptions, 'provider'>,
): readonly AnyRoute[] => {
  const options = { ...consent, provider: () => server.provider() };
  return [...handedOver(server), consentRoute(options), decisionRoute(options), revokeRoute(options)];
};

const handedOver = (server: AuthorizationServer): readonly HandedOverRoute[] => {
  const to = (
    endpoint: OAuthEndpoint,
    declared: Omit<HandedOverRoute, 'tag' | 'access' | 'errors' | 'serve'>,
  ): HandedOverRoute => ({
    ...declared,
    tag,
    access: 'public',
    errors: 'oauth',
    serve: (request, response) => server.answer(endpoint, request, response),
  });
  return [
    to('authorize', {
      method: 'get',
      path: '/authorize',
      operationId: 'authorize',
      summary: 'Ask a user for access: redirects to the consent page (RFC 6749, PKCE with S256)',
    }),
    to('resume', {
      method: 'get',
      path: '/authorize/{uid}',
      operationId: 'resumeAuthorization',
      summary: 'Redirects to the client after the consent',
    }),
    to('register', {
      method: 'post',
      path: '/auth/register',
      operationId: 'registerClient',
      summary: 'Register a client (RFC 7591)',
      limit: 'clientRegistration',
      anyOrigin: true,
      sends: { mediaType: JSON_TYPE, schema: ClientMetadata },
      answers: { mediaType: JSON_TYPE, schema: Client },
    }),
    to('token', {
      method: 'post',
      path: '/auth/token',
      operationId: 'exchangeToken',
      summary: 'Exchange a code or a refresh token for an access token',
      limit: 'token',
      sends: { mediaType: FORM_TYPE, schema: TokenRequest },
      answers: { mediaType: JSON_TYPE, schema: Tokens },
    }),
    preflight('/auth/token', 'preflightToken'),
    preflight('/auth/revoke', 'preflightRevocation'),
    to('revoke', {
      method: 'post',
      path: '/auth/revoke',
      operationId: 'revokeToken',
      summary: 'Revoke a token, and all others of its grant (RFC 7009)',
      limit: 'token',
      sends: { mediaType: FORM_TYPE, schema: RevocationRequest },
    }),
    to('metadata', {
      method: 'get',
      path: METADATA_PATH,
      operationId: 'getAuthorizationServer',
      anyOrigin: true,
      summary: 'What a client needs to know of the authorization server (RFC 8414)',
      answers: { mediaType: JSON_TYPE, schema: Metadata },
    }),
  ];
};

/** It names no client: the request itself is only for the origins of the client's redirect URIs. */
const preflight = (path: string, operationId: string): HandedOverRoute => ({
  method: 'options',
  path,
  operationId,
  summary: 'Whether pages of other origins may send the request: those of the redirect URIs of the client',
  tag,
  access: 'public',
  anyOrigin: true,
  errors: 'oauth',
  serve: (_request, response) => {
    response.writeHead(204, {
      Allow: 'POST, OPTIONS',
      'Access-Control-Allow-Methods': 'POST',
      'Access-Control-Allow-Headers': 'Accept, Content-Type',
      'Access-Control-Max-Age': PREFLIGHT_SECONDS,
    });
    response.end();
  },
});

const PREFLIGHT_SECONDS = '600';

const consent = {
  path: '/api/console/oauth/{uid}',
  tag,
  access: 'session',
  firstParty: true,
  params: z.object({
    uid: boundedText(1, 100).meta({ description: 'From the address of the page that asks for consent.' }),
  }),
  headers: z.object({
    cookie: z
      .string()
      .optional()
      .meta({ description: 'Shows that this browser has started the authorization.' }),
  }),
} as const;

type ConsentInput = {
  readonly params: { readonly uid: string };
  readonly headers: { readonly cookie?: string | undefined };
  readonly request: {
    readonly principal: { readonly actor: string; readonly user?: ConsentSubject['user'] };
  };
};

const askedOf = ({ params: { uid }, headers: { cookie }, request }: ConsentInput): ConsentSubject => ({
  uid,
  cookie,
  user: request.principal.user,
  sessionId: request.principal.actor.slice('session:'.length),
});

const consentRoute = (options: ConsentOptions): Route =>
  route({
    ...consent,
    method: 'get',
    operationId: 'getConsentRequest',
    summary: 'Which client asks the signed-in user for what',
    responses: { 200: { description: 'The request', data: ConsentRequest } },
    handle: async (input) => ({ status: 200, data: await describeConsent(options, askedOf(input)) }),
  });

const decisionRoute = (options: ConsentOptions): Route =>
  route({
    ...consent,
    method: 'post',
    operationId: 'decideConsent',
    summary: 'Allow or deny what the client asks for; the browser then goes to `redirectTo`',
    body: ConsentDecision,
    // The address contains the interaction's id. A repeat decides again: for the same grant.
    answerIsSecret: true,
    responses: { 200: { description: 'Decided', data: z.object({ redirectTo: z.string() }) } },
    handle: async (input) => {
      const { context } = ofRequest(input.request);
      const redirectTo = await decideConsent(options, askedOf(input), input.body, context);
      return { status: 200, data: { redirectTo } };
    },
  });

const revokeRoute = (writes: GrantWrites): Route =>
  route({
    method: 'delete',
    path: '/api/v2/accounts/current/connected-apps/{grantId}',
    operationId: 'revokeConnectedApp',
    summary:
      'Revoke the access of an OAuth client: its tokens are refused on their next request. Others than those of the user of the credential need exchange:admin',
    tag: 'Accounts',
    access: 'exchange:write',
    otherAccess: 'exchange:review',
    params: z.object({ grantId: boundedText(1, 100).meta({ description: 'Id of the connected app.' }) }),
    responses: { 204: { description: 'Revoked' } },
    handle: async ({ params: { grantId }, request }) => {
      const { scopes, user } = request.principal;
      const isAdmin = scopes.includes('exchange:admin');
      await revokeGrantFor(writes, grantId, { userId: user?.id ?? '', isAdmin }, ofRequest(request).context);
      return { status: 204 };
    },
  });
