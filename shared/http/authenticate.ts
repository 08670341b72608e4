import type { IncomingMessage } from 'node:http';
import { ApiError, KnownHolderError, unavailable } from './errors.ts';
import { PROTECTED_RESOURCE_PATH } from './document-routes.ts';
import type { Holder, Principal, Verification, VerifyCredential } from './principal.ts';

export type CredentialKind = 'api-key' | 'access-token';

const ACCESS_TOKEN = /^(?:at_|[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$)/;

const kindOfCredential = (credential: string): CredentialKind =>
  ACCESS_TOKEN.test(credential) ? 'access-token' : 'api-key';

/** RFC 6750, 3.1: another scheme counts as a missing credential. */
const BEARER_SCHEME = /^bearer(?: |$)/i;

/** RFC 6750, 2.1: one credential of token68 characters. The scheme is case-insensitive. */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]{1,4096}=*)$/i;

export type Authentication =
  | { readonly outcome: 'verified'; readonly kind: CredentialKind; readonly principal: Principal }
  | { readonly outcome: 'rejected'; readonly kind: CredentialKind; readonly challenge: ApiError }
  | { readonly outcome: 'missing' | 'expired'; readonly challenge: ApiError };

/** @throws ApiError SERVICE_UNAVAILABLE if the credential cannot be looked up */
export type Authenticate = (request: IncomingMessage) => Promise<Authentication>;

/** RFC 6750, RFC 9728. A failed lookup is 503: after a 401, clients discard valid credentials. */
export const createAuthenticate = (verify: VerifyCredential, baseUrl: () => string): Authenticate => {
  const challenge = (): string =>
    `Bearer realm="buyer-exchange", resource_metadata="${baseUrl()}${PROTECTED_RESOURCE_PATH}"`;
  const unauthorized = (message: string, parameters = ''): ApiError =>
    new ApiError({ code: 'UNAUTHORIZED', message }, { 'WWW-Authenticate': `${challenge()}${parameters}` });

  const missing = (): Authentication => ({
    outcome: 'missing',
    challenge: unauthorized('Send your API key as `Authorization: Bearer <API key>`.'),
  });
  const rejected = (kind: CredentialKind, holder?: Holder): Authentication => {
    const refusal = unauthorized(
      'The credential is unknown, revoked or malformed. Use a valid API key.',
      ', error="invalid_token"',
    );
    return {
      outcome: 'rejected',
      kind,
      challenge: holder === undefined ? refusal : new KnownHolderError(refusal, holder),
    };
  };
  const expired = (): Authentication => ({
    outcome: 'expired',
    challenge: unauthorized(
      'The access token expired. Refresh it.',
      ', error="invalid_token", error_description="The access token expired"',
    ),
  });

  return async (request) => {
    const given = request.headersDistinct['authorization'] ?? [];
    const [header] = given;
    if (header === undefined || !given.some((value) => BEARER_SCHEME.test(value))) return missing();
    const credential = given.length === 1 ? BEARER.exec(header)?.[1] : undefined;
    if (credential === undefined) return rejected('api-key');
    let verification: Verification;
    try {
      verification = await verify(credential, request.socket);
    } catch (error) {
      throw cannotVerify(error);
    }
    const kind = kindOfCredential(credential);
    if (verification.outcome === 'expired') return expired();
    if (verification.outcome === 'rejected') return rejected(kind, verification.holder);
    return { outcome: 'verified', kind, principal: verification.principal };
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
