import { z } from 'zod';

/** What clients send to the authorization server and get from it, for the API document: the library checks it. */

const text = (description: string) => z.string().meta({ description });
const texts = (description: string) => z.array(z.string()).meta({ description });

const clientMembers = {
  client_name: text('Shown to the person who is asked for access.').optional(),
  redirect_uris: texts('Up to 10 addresses: `https:`, `http:` on this machine, or a private scheme.'),
  grant_types: texts('`authorization_code`, and `refresh_token` for longer access.').optional(),
};

/** RFC 7591, 2. */
export const ClientMetadata = z.looseObject(clientMembers).meta({ id: 'OAuthClientMetadata' });

/** RFC 7591, 3.2.1. */
export const Client = z
  .looseObject({ client_id: text('Id of the client, without a secret.'), ...clientMembers })
  .meta({ id: 'OAuthClient' });

/** RFC 6749, 4.1.3 and 6; RFC 7636, 4.5; RFC 8707. */
export const TokenRequest = z
  .looseObject({
    grant_type: z.enum(['authorization_code', 'refresh_token']).meta({ description: 'What is exchanged.' }),
    client_id: text('Id of the client.'),
    code: text('For `authorization_code`: from the address that the person returned to.').optional(),
    redirect_uri: text('For `authorization_code`: the address of the authorization request.').optional(),
    code_verifier: text(
      'For `authorization_code`: the secret whose SHA-256 was sent before (PKCE).',
    ).optional(),
    refresh_token: text('For `refresh_token`: the newest one.').optional(),
    resource: text('Address of the API that the token is for.').optional(),
    scope: text('For `refresh_token`: fewer scopes than before, separated by spaces.').optional(),
  })
  .meta({ id: 'OAuthTokenRequest' });

/** RFC 6749, 5.1. */
export const Tokens = z
  .looseObject({
    access_token: text('Sent as a bearer token.'),
    token_type: z.literal('Bearer').meta({ description: 'How the access token is sent.' }),
    expires_in: z.int().meta({ description: 'Seconds that the access token is valid.' }),
    refresh_token: text('Gets the next access token, and is replaced then.').optional(),
    scope: text('Scopes that the person has allowed, separated by spaces.'),
  })
  .meta({ id: 'OAuthTokens' });

/** RFC 7009, 2.1. */
export const RevocationRequest = z
  .looseObject({
    client_id: text('Id of the client.'),
    token: text('An access token or a refresh token.'),
  })
  .meta({ id: 'OAuthRevocationRequest' });

/** RFC 8414, 2. */
export const Metadata = z
  .looseObject({
    issuer: text('The service.'),
    authorization_endpoint: text('Where a person is asked for access.'),
    token_endpoint: text('Where codes and refresh tokens are exchanged.'),
    registration_endpoint: text('Where clients register.'),
    revocation_endpoint: text('Where tokens are revoked.'),
    scopes_supported: texts('All scopes.'),
  })
  .meta({ id: 'OAuthMetadata' });
