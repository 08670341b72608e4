import { generateKeyPairSync } from 'node:crypto';
import type Provider from 'oidc-provider';
import type { Configuration, KoaContextWithOIDC } from 'oidc-provider';
import { Scope } from '../../../domain/accounts/access.ts';
import { GRANT_DAYS } from '../../../domain/accounts/oauth-grant.ts';
import { createAdapter, type AdapterOptions } from './adapter.ts';
import { RESUME_COOKIE, UNUSED_COOKIES, usedCookies, withStarted } from './cookies.ts';
import { renderErrorPage } from './error-page.ts';
import type * as OidcLibrary from './oidc-library.ts';
import { SIGNED_IN_SINCE } from './provider-request.ts';
import { canonicalResource } from './resources.ts';

const DAY_SECONDS = 86_400;
/** Decisions, 1.4. */
const ACCESS_TOKEN_SECONDS = 3_600;
const CODE_SECONDS = 60;
const REFRESH_TOKEN_SECONDS = 30 * DAY_SECONDS;
const GRANT_SECONDS = GRANT_DAYS * DAY_SECONDS;
const INTERACTION_SECONDS = 900;
/** Clocks of processes differ. */
export const CLOCK_TOLERANCE_SECONDS = 5;

export interface ProviderOptions extends Omit<AdapterOptions, 'refuseGrant' | 'endGrant' | 'issuer'> {
  readonly baseUrl: string;
  readonly cookieKey: string;
  readonly isUser: (userId: string) => Promise<boolean>;
  /** Whether a client's metadata document may be fetched from there. */
  readonly mayFetch: (url: string) => boolean;
  /** Fetches a metadata document and applies the policy for clients to it. */
  readonly fetchMetadata: (url: string | URL, init?: RequestInit) => Promise<Response>;
  readonly endGrant: (grantId: string, by: 'client' | 'reuse') => Promise<void>;
  /** @returns the status to answer */
  readonly onError: (error: unknown) => 500 | 503;
}

type Library = typeof OidcLibrary;

export const createProvider = async (options: ProviderOptions): Promise<Provider> => {
  const library = await import('./oidc-library.ts');
  const issuer = new URL(options.baseUrl).origin;
  const provider = new library.Provider(issuer, configurationOf(options, library, issuer));
  // The address of this service comes from the request that `provider-request.ts` writes.
  provider.proxy = true;
  prefixTokens(provider);
  provider.use(async (ctx, next) => {
    // The library's cookies say Secure also where a proxy, or nothing on loopback, ends TLS.
    ctx.cookies.secure = true;
    await next();
    const cookies = usedCookies([ctx.response.headers['set-cookie'] ?? []].flat());
    if (cookies.length > 0) ctx.set('Set-Cookie', [...cookies]);
    else ctx.remove('Set-Cookie');
    const body = ctx.body as Readonly<Record<string, unknown>>;
    if (ctx.path === METADATA_PATH && ctx.status === 200) ctx.body = serverMetadata(body);
    if (ctx.status === 201) ctx.body = pick(body, REGISTERED);
  });
  provider.on('server_error', (ctx, error) => {
    ctx.status = options.onError(error);
    if (ctx.status !== 503) return;
    ctx.set('Retry-After', '1');
    ctx.body = {
      error: 'temporarily_unavailable',
      error_description: 'Repeat the request after Retry-After.',
    };
  });
  const koa: NodeJS.EventEmitter = provider;
  koa.on('error', (error) => void options.onError(error));
  return provider;
};

export const METADATA_PATH = '/.well-known/oauth-authorization-server';

export const ROUTES = {
  authorize: '/authorize',
  register: '/auth/register',
  token: '/auth/token',
  revoke: '/auth/revoke',
  metadata: METADATA_PATH,
} as const;

const off = { enabled: false } as const;

const configurationOf = (options: ProviderOptions, library: Library, issuer: string): Configuration => {
  const { isUser, fetchMetadata } = options;
  const endGrant = (grantId: string): Promise<void> =>
    options.endGrant(grantId, library.Provider.ctx?.oidc.route === 'revocation' ? 'client' : 'reuse');
  return {
    adapter: createAdapter({
      ...options,
      issuer,
      endGrant,
      refuseGrant: (message) => new library.InvalidGrant(message),
    }),
    routes: {
      authorization: ROUTES.authorize,
      registration: ROUTES.register,
      token: ROUTES.token,
      revocation: ROUTES.revoke,
    },
    extraParams: [SIGNED_IN_SINCE],
    scopes: ['offline_access'],
    responseTypes: ['code'],
    clientAuthMethods: ['none'],
    clientDefaults: { id_token_signed_response_alg: 'Ed25519', token_endpoint_auth_method: 'none' },
    clientBasedCORS: (_ctx, origin, client) =>
      client.redirectUris?.some((uri) => URL.canParse(uri) && new URL(uri).origin === origin) ?? false,
    jwks: { keys: [unusedKey()] },
    cookies: cookiesOf(options.cookieKey),
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: async () => false,
    revokeGrantPolicy: () => true,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    allowOmittingSingleRegisteredRedirectUri: false,
    fetch: (url, init) => fetchMetadata(url instanceof Request ? url.url : url, init),
    findAccount: async (_ctx, userId) =>
      (await isUser(userId)) ? { accountId: userId, claims: async () => ({ sub: userId }) } : undefined,
    loadExistingGrant: async (ctx) => {
      const grantId = ctx.oidc.result?.consent?.grantId;
      return grantId === undefined ? undefined : ctx.oidc.provider.Grant.find(grantId);
    },
    interactions: { policy: policyOf(library), url: consentPage },
    renderError: renderErrorPage,
    ttl: lifetimes,
    features: featuresOf(options, library),
  };
};

const lifetimes: Configuration['ttl'] = {
  AccessToken: ACCESS_TOKEN_SECONDS,
  AuthorizationCode: CODE_SECONDS,
  RefreshToken: (_ctx, token) =>
    Math.max(1, Math.min(REFRESH_TOKEN_SECONDS, GRANT_SECONDS - token.totalLifetime())),
  Grant: GRANT_SECONDS,
  Interaction: INTERACTION_SECONDS,
  Session: INTERACTION_SECONDS,
};

const featuresOf = (
  { baseUrl, mayFetch }: ProviderOptions,
  library: Library,
): NonNullable<Configuration['features']> => ({
  devInteractions: off,
  userinfo: off,
  rpInitiatedLogout: off,
  pushedAuthorizationRequests: off,
  dPoP: off,
  registration: { enabled: true, issueRegistrationAccessToken: false },
  revocation: {
    enabled: true,
    // Another client's token: 200 without effect (RFC 7009).
    allowedPolicy: async (_ctx, client, token) => client.clientId === token.clientId,
  },
  clientIdMetadataDocument: {
    enabled: true,
    ack: 'draft-02',
    allowFetch: async (_ctx, url) => mayFetch(url),
  },
  resourceIndicators: {
    enabled: true,
    defaultResource: async (_ctx, _client, oneOf) => oneOf?.[0] ?? baseUrl,
    useGrantedResource: async () => true,
    getResourceServerInfo: async (_ctx, resource) => {
      const audience = canonicalResource(baseUrl, resource);
      if (audience === undefined) throw new library.InvalidTarget();
      const scope = Scope.options.join(' ');
      return { scope, audience, accessTokenTTL: ACCESS_TOKEN_SECONDS, accessTokenFormat: 'opaque' };
    },
  },
});

/** The library needs a key, but signs nothing: tokens are opaque, and there are no ID tokens. */
const unusedKey = () => ({
  ...generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }),
  alg: 'Ed25519',
});

const cookiesOf = (key: string): Configuration['cookies'] => {
  const [session, interaction] = UNUSED_COOKIES;
  return {
    names: { session, interaction, resume: RESUME_COOKIE },
    keys: [key],
    long: { httpOnly: true, sameSite: 'lax' },
    short: { httpOnly: true, sameSite: 'lax', secure: true },
  };
};

/** Each authorization asks for consent. The session is that of our sign-in, never the library's. */
const policyOf = ({ Check, Prompt }: Library) => [
  new Prompt(
    { name: 'login', requestable: true },
    new Check('no_user', 'the user must be signed in', (ctx) => ctx.oidc.session?.accountId === undefined),
  ),
  new Prompt(
    { name: 'consent', requestable: true },
    new Check('no_consent', 'the user must agree', (ctx) => ctx.oidc.result?.consent?.grantId === undefined),
  ),
];

const consentPage = (ctx: KoaContextWithOIDC, { uid }: { readonly uid: string }): string => {
  const { name, value } = withStarted(ctx.get('cookie'), uid);
  ctx.cookies.set(name, value, {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: true,
    signed: false,
    maxAge: INTERACTION_SECONDS * 1_000,
  });
  return `/console/oauth/${uid}`;
};

/** Undocumented: the methods are replaced so that tokens show what they are, also to scanners for secrets. */
const prefixTokens = ({ AccessToken, RefreshToken }: Provider): void => {
  for (const [prefix, { prototype }] of [
    ['at_', AccessToken],
    ['rt_', RefreshToken],
  ] as const) {
    const model = prototype as unknown as { generateTokenId: () => string };
    const { generateTokenId } = model;
    model.generateTokenId = function prefixed() {
      return `${prefix}${generateTokenId.call(this)}`;
    };
  }
};

/** RFC 8414. What the library adds for OpenID Connect is left out: there are no ID tokens and no keys. */
const serverMetadata = (all: Readonly<Record<string, unknown>>) => ({
  ...pick(all, PUBLISHED),
  scopes_supported: [...Scope.options, 'offline_access'],
  response_modes_supported: ['query'],
});

const pick = (all: Readonly<Record<string, unknown>>, names: readonly string[]) =>
  Object.fromEntries(names.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]])));

/** RFC 7591, 3.2.1. */
const REGISTERED = [
  'client_id',
  'client_id_issued_at',
  'client_name',
  'redirect_uris',
  'application_type',
  'grant_types',
  'response_types',
  'token_endpoint_auth_method',
] as const;

const PUBLISHED = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'revocation_endpoint',
  'response_types_supported',
  'grant_types_supported',
  'token_endpoint_auth_methods_supported',
  'code_challenge_methods_supported',
  'authorization_response_iss_parameter_supported',
  'client_id_metadata_document_supported',
] as const;
