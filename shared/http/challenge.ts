/** The addresses that a client needs to get a credential. */
export interface Site {
  readonly baseUrl: () => string;
  /** Path of the API: the resource of routes that name no other. */
  readonly apiPath: string;
  /** By path of a resource: what its 401 tells clients to ask for. They ask for exactly that. */
  readonly challengeScopes?: Readonly<Record<string, readonly string[]>>;
}

/** RFC 9728, section 3.1. */
export const PROTECTED_RESOURCE_PATH = '/.well-known/oauth-protected-resource';

/** RFC 6750, section 3, and RFC 9728, section 5.1. The metadata without a path are those of the API. */
export const challengeOf = (
  { baseUrl, apiPath, challengeScopes = {} }: Site,
  resource: string | undefined,
  parameters: Readonly<Record<string, string>> = {},
): string => {
  const path = resource === undefined || resource === apiPath ? '' : resource;
  const scopes = challengeScopes[resource ?? apiPath];
  const all = {
    realm: 'buyer-exchange',
    resource_metadata: `${baseUrl()}${PROTECTED_RESOURCE_PATH}${path}`,
    ...(scopes && { scope: scopes.join(' ') }),
    ...parameters,
  };
  return `Bearer ${Object.entries(all)
    .map(([name, value]) => `${name}="${value}"`)
    .join(', ')}`;
};
