import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { Scope } from '../../../domain/accounts/access.ts';
import { clientMetadata } from './client-policy.ts';
import { canonicalResource } from './resources.ts';

export interface ProviderRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body?: Buffer | undefined;
}

/** The answer that the library would give too late: after it has used up the refresh token. */
export class InvalidResourceError extends Error {
  override readonly name = 'InvalidResourceError';
}

/**
 * The library reads it instead of the client's request: the body has been read, and the address is that of
 * `BASE_URL`, regardless of the Host header.
 */
export const providerRequest = (
  baseUrl: string,
  { method, url, headers, body }: ProviderRequest,
): IncomingMessage => {
  const { protocol, host } = new URL(baseUrl);
  const copy = new IncomingMessage(new Socket());
  const { 'transfer-encoding': _, 'content-length': _length, ...others } = headers;
  copy.method = method;
  copy.url = url;
  copy.headers = {
    ...others,
    host,
    'x-forwarded-host': host,
    'x-forwarded-proto': protocol.slice(0, -1),
    ...(body !== undefined && { 'content-length': String(body.length) }),
  };
  copy.push(body ?? null);
  if (body !== undefined) copy.push(null);
  copy.complete = true;
  return copy;
};

/** When the user must have signed in at the earliest, in seconds since 1970. Never from a client. */
export const SIGNED_IN_SINCE = 'signed_in_since';

/** Parameters of OpenID Connect that the library refuses without the scope `openid`. RFC 6749, 3.1: ignored. */
const IGNORED = ['nonce', 'claims', 'claims_locales', 'id_token_hint', 'acr_values'];

export const authorizationQuery = (baseUrl: string, search: string, nowMs: number): string => {
  const parameters = parametersOf(search);
  for (const name of IGNORED) parameters.delete(name);
  withSignedInSince(parameters, Math.floor(nowMs / 1_000));
  const scopes = parameters.getAll('scope');
  // The library refuses a repeated parameter.
  if (scopes.length < 2) parameters.set('scope', requestedScopes(scopes[0]));
  withCanonicalResources(baseUrl, parameters);
  return parameters.toString();
};

/**
 * OpenID Connect, 3.1.2.1: `prompt=login` and `max_age`. The library would ask its session, which is not used here
 * (`consent.ts` asks ours).
 */
const withSignedInSince = (parameters: URLSearchParams, now: number): void => {
  const ages = parameters.getAll('max_age').filter((age) => /^\d{1,9}$/.test(age));
  const asksForSignIn = parameters.getAll('prompt').some((prompt) => prompt.split(' ').includes('login'));
  parameters.delete('max_age');
  parameters.delete(SIGNED_IN_SINCE);
  const age = Math.min(...ages.map(Number), asksForSignIn ? 0 : Infinity);
  if (age !== Infinity) parameters.set(SIGNED_IN_SINCE, String(now - age));
};

/** Without one of ours: all of them. Consent leaves out what the role of the user does not allow. */
const requestedScopes = (requested = ''): string => {
  const known = requested
    .split(' ')
    .filter((scope) => Scope.safeParse(scope).success || scope === 'offline_access');
  const asksForOurs = known.some((scope) => scope !== 'offline_access');
  return (asksForOurs ? known : [...known, ...Scope.options]).join(' ');
};

/** @throws InvalidResourceError */
export const tokenBody = (baseUrl: string, body: Buffer): Buffer => {
  const parameters = parametersOf(body.toString('utf8'));
  withCanonicalResources(baseUrl, parameters);
  const isOurs = (resource: string): boolean => canonicalResource(baseUrl, resource) !== undefined;
  if (!parameters.getAll('resource').every(isOurs)) throw new InvalidResourceError();
  return Buffer.from(parameters.toString());
};

export const revocationBody = (body: Buffer): Buffer =>
  Buffer.from(parametersOf(body.toString('utf8')).toString());

/** Postgres stores no U+0000: it becomes what bytes that are not UTF-8 become. */
const parametersOf = (text: string): URLSearchParams =>
  new URLSearchParams(
    [...new URLSearchParams(text)].map(([name, value]): [string, string] => [
      name,
      value.replaceAll('\0', '\uFFFD'),
    ]),
  );

const withCanonicalResources = (baseUrl: string, parameters: URLSearchParams): void => {
  const resources = parameters.getAll('resource');
  parameters.delete('resource');
  for (const resource of new Set(resources.map((one) => canonicalResource(baseUrl, one) ?? one))) {
    parameters.append('resource', resource);
  }
};

/** A body that is not a JSON object stays: the library refuses it. @throws ClientRefusedError */
export const registrationBody = (body: Buffer): Buffer => {
  const given = parsed(body);
  return given === undefined ? body : Buffer.from(JSON.stringify(clientMetadata(given)));
};

const parsed = (body: Buffer): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
};
