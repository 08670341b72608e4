import { createHash } from 'node:crypto';
import type { Send } from './exchanges.ts';
import type { Scenario } from './scenario.ts';

const CALLBACK = 'http://127.0.0.1:8123/callback';
/** RFC 7636, appendix B. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');

const locationOf =
  (send: Send, seen: (location: string) => void): Send =>
  async (url, init) => {
    const response = await send(url, init);
    seen(response.headers.get('location') ?? '');
    return response;
  };

const anyone: Send = (url, init) => fetch(url, init);

/** An app gets access to the account, and loses it. */
export const connectApp = async (
  { call, baseUrl }: Scenario,
  jane: Send,
): Promise<{ readonly grantId: string }> => {
  await call('getAuthorizationServer', { as: anyone });
  const { client_id } = await call<{ client_id: string }>('registerClient', {
    as: anyone,
    body: {
      client_name: 'Reporting app',
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'refresh_token'],
    },
  });
  let location = '';
  const browser = locationOf(jane, (seen) => (location = seen));
  const resource = `${baseUrl}/api/v2/buyer`;
  await call('authorize', {
    as: browser,
    query: {
      response_type: 'code',
      client_id,
      redirect_uri: CALLBACK,
      state: 'af0ifjsldkj',
      resource,
      scope: 'exchange:read exchange:write',
      code_challenge: CHALLENGE,
      code_challenge_method: 'S256',
    },
  });
  const uid = location.split('/').at(-1) ?? '';
  await call('getConsentRequest', { as: jane, path: { uid } });
  await call('decideConsent', {
    as: jane,
    path: { uid },
    body: { decision: 'allow', scopes: ['exchange:read'] },
  });
  await call('resumeAuthorization', { as: browser, path: { uid } });
  const code = new URL(location).searchParams.get('code') ?? '';
  const { refresh_token } = await call<{ refresh_token: string }>('exchangeToken', {
    as: anyone,
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id,
      code,
      redirect_uri: CALLBACK,
      code_verifier: VERIFIER,
      resource,
    }),
  });
  const [app] = await call<readonly { grantId: string }[]>('listConnectedApps', { as: jane });
  await call('preflightToken', { as: anyone });
  await call('preflightRevocation', { as: anyone });
  await call('revokeToken', { as: anyone, body: new URLSearchParams({ client_id, token: refresh_token }) });
  const grantId = app?.grantId ?? '';
  await call('revokeConnectedApp', { as: jane, path: { grantId } });
  return { grantId };
};
