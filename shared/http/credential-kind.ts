export type CredentialKind = 'api-key' | 'access-token';

const ACCESS_TOKEN = /^(?:at_|[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$)/;

/**
 * What a bearer credential claims to be, by its form: an access token has the prefix `at_` or is a JWT; all else
 * is an API key, or a malformed one (decisions.md 1.4).
 */
export const kindOfCredential = (credential: string): CredentialKind =>
  ACCESS_TOKEN.test(credential) ? 'access-token' : 'api-key';
