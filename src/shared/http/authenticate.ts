import type { IncomingMessage } from 'node:http';
import { ApiError, unavailable } from './errors.ts';
import { headerValues } from './headers.ts';
import type { Principal, VerifyCredential } from './principal.ts';

/** RFC 6750, 3.1: another scheme counts as no credential at all. */
const BEARER_SCHEME = /^bearer(?: |$)/i;

/** RFC 6750, 2.1: one credential of token68 characters after the scheme, whose name has no case. */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]{1,4096}=*)$/i;

export type Authenticate = (request: IncomingMessage) => Promise<Principal>;

/**
 * Who a request comes from, by its bearer credential (specification, Authentication).
 *
 * Answers 401 with the challenge of RFC 6750 and RFC 9728: without `error` when no credential was sent, with
 * `invalid_token` when it does not verify. When the credential cannot be looked up, 503: "no" would make
 * clients drop good credentials, and "yes" is never guessed.
 */
export const createAuthenticate = (verify: VerifyCredential, baseUrl: () => string): Authenticate => {
  const challenge = (): string =>
    `Bearer realm="buyer-exchange", resource_metadata="${baseUrl()}/.well-known/oauth-protected-resource"`;
  const unauthorized = (message: string, parameters = ''): ApiError =>
    new ApiError({ code: 'UNAUTHORIZED', message }, { 'WWW-Authenticate': `${challenge()}${parameters}` });

  return async (request) => {
    const given = headerValues(request, 'authorization');
    const [header] = given;
    if (header === undefined || !given.some((value) => BEARER_SCHEME.test(value))) {
      throw unauthorized('Send your API key as `Authorization: Bearer <API key>`.');
    }
    const rejected = (): ApiError =>
      unauthorized(
        'The credential is unknown, revoked or malformed. Use a valid API key.',
        ', error="invalid_token"',
      );
    const credential = given.length === 1 ? BEARER.exec(header)?.[1] : undefined;
    if (credential === undefined) throw rejected();
    const verification = await verify(credential).catch((error: unknown) => {
      if (error instanceof ApiError) throw error;
      throw unavailable(
        'Credentials cannot be verified right now. Repeat the request after Retry-After.',
        1,
        error,
      );
    });
    if (verification.outcome === 'rejected') throw rejected();
    return verification.principal;
  };
};
