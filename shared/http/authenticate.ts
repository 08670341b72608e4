import type { IncomingMessage } from 'node:http';
import { parseCookie } from 'cookie';
import { challengeOf, type Site } from './challenge.ts';
import { ApiError, KnownHolderError, unavailable } from './errors.ts';
import { foreignPage, isFromOwnPage } from './own-origin.ts';
import type {
  CredentialKind,
  Holder,
  Verification,
  VerifiedPrincipal,
  VerifyAccessToken,
  VerifyCredential,
} from './principal.ts';

export interface CredentialVerifiers {
  readonly apiKey: VerifyCredential;
  readonly accessToken: VerifyAccessToken;
  readonly session: VerifyCredential;
}

type BearerKind = Exclude<CredentialKind, 'session'>;

const ACCESS_TOKEN = /^(?:at_|[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$)/;

const kindOfCredential = (credential: string): BearerKind =>
  ACCESS_TOKEN.test(credential) ? 'access-token' : 'api-key';

/** RFC 6750, 3.1: another scheme counts as a missing credential. */
const BEARER_SCHEME = /^bearer(?: |$)/i;

/** RFC 6750, 2.1: one credential of token68 characters. The scheme is case-insensitive. */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]{1,4096}=*)$/i;

export const SESSION_COOKIE = '__Host-sc_session';

const SAFE_METHODS: readonly unknown[] = ['GET', 'HEAD', 'OPTIONS'];

export type Authentication =
  | { readonly outcome: 'verified'; readonly principal: VerifiedPrincipal }
  /** Counts toward the failures of the address (specification, Authentication, rule 2). */
  | { readonly outcome: 'rejected'; readonly kind: BearerKind; readonly challenge: ApiError }
  | { readonly outcome: 'refused'; readonly kind?: never; readonly challenge: ApiError };

/** @param resource see `Route` @throws ApiError SERVICE_UNAVAILABLE if the credential cannot be looked up */
export type Authenticate = (request: IncomingMessage, resource?: string) => Promise<Authentication>;

/** RFC 6750, RFC 9728. A failed lookup is 503: after a 401, clients discard valid credentials. */
export const createAuthenticate = (verify: CredentialVerifiers, site: Site): Authenticate => {
  const answers = challenges(site);

  const bySession = async (
    request: IncomingMessage,
    resource: string | undefined,
  ): Promise<Authentication> => {
    const secret = parseCookie(request.headers.cookie ?? '')[SESSION_COOKIE];
    if (secret === undefined) return answers.missing(resource);
    const verification = await verify.session(secret, request.socket);
    if (verification.outcome !== 'verified') return answers.noSession(resource);
    const isAllowed = SAFE_METHODS.includes(request.method) || isFromOwnPage(request, site.baseUrl());
    return isAllowed ? verification : { outcome: 'refused', challenge: foreignPage() };
  };

  const byBearer = (
    kind: BearerKind,
    credential: string,
    { socket }: IncomingMessage,
    resource: string = site.apiPath,
  ): Promise<Verification> =>
    kind === 'api-key' ? verify.apiKey(credential, socket) : verify.accessToken(credential, socket, resource);

  return async (request, resource) => {
    const given = request.headersDistinct['authorization'] ?? [];
    const [header] = given;
    try {
      if (header === undefined) return await bySession(request, resource);
      if (!given.some((value) => BEARER_SCHEME.test(value))) return answers.missing(resource);
      const credential = given.length === 1 ? BEARER.exec(header)?.[1] : undefined;
      if (credential === undefined) return answers.rejected(resource, 'api-key');
      const kind = kindOfCredential(credential);
      const verification = await byBearer(kind, credential, request, resource);
      if (verification.outcome === 'verified') return verification;
      if (verification.outcome === 'expired') return answers.expired(resource);
      return answers.rejected(resource, kind, verification.holder);
    } catch (error) {
      throw cannotVerify(error);
    }
  };
};

const challenges = (site: Site) => {
  const unauthorized = (
    message: string,
    resource: string | undefined,
    parameters?: Readonly<Record<string, string>>,
  ): ApiError =>
    new ApiError(
      { code: 'UNAUTHORIZED', message },
      { 'WWW-Authenticate': challengeOf(site, resource, parameters) },
    );
  return {
    missing: (resource: string | undefined): Authentication => ({
      outcome: 'refused',
      challenge: unauthorized(
        'Send an API key or an access token as `Authorization: Bearer <API key or access token>`, or sign in.',
        resource,
      ),
    }),
    noSession: (resource: string | undefined): Authentication => ({
      outcome: 'refused',
      challenge: unauthorized('The session is unknown or has ended. Sign in again.', resource),
    }),
    expired: (resource: string | undefined): Authentication => ({
      outcome: 'refused',
      challenge: unauthorized('The access token expired. Refresh it.', resource, {
        error: 'invalid_token',
        error_description: 'The access token expired',
      }),
    }),
    rejected: (resource: string | undefined, kind: BearerKind, holder?: Holder): Authentication => {
      const refusal = unauthorized(
        'The credential is unknown, revoked or malformed. Use a valid API key or access token.',
        resource,
        { error: 'invalid_token' },
      );
      return {
        outcome: 'rejected',
        kind,
        challenge: holder === undefined ? refusal : new KnownHolderError(refusal, holder),
      };
    },
  };
};

const cannotVerify = (error: unknown): ApiError => {
  if (error instanceof ApiError) return error;
  return unavailable(
    'Credentials cannot be verified right now. Repeat the request after Retry-After.',
    1,
    error,
  );
};
