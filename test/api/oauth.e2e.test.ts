import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as oauth4webapi from 'oauth4webapi';
import * as openid from 'openid-client';
import type { ConnectedApp } from '../../domain/accounts/connected-app.ts';
import { createKeyUse, grantUses } from '../../command/accounts/record-key-use.ts';
import { verifyAccessToken } from '../../query/accounts/verify-access-token.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { setAccess } from '../../cli/operate-accounts.ts';
import {
  pkce,
  REDIRECT_URI,
  registerClient,
  startOAuthService,
  TestClient,
  useToken,
  type OAuthService,
} from '../support/oauth-service.ts';
import type { TestAccount } from '../support/running-service.ts';

/** OAuth from discovery to revocation, with clients that we did not write. */

let oauth: OAuthService;
let account: TestAccount;
let baseUrl: string;
beforeAll(async () => {
  oauth = await startOAuthService();
  ({ baseUrl } = oauth.service);
  account = await oauth.service.openAccount('Acme Ltd');
});
afterAll(() => oauth.service.stop());

const metadata = {
  client_name: 'Planner',
  redirect_uris: [REDIRECT_URI],
  grant_types: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_method: 'none',
};
const browser = () => oauth.browserOf(account);
const eventsOf = async (grantId: string) =>
  (await oauth.service.eventsOf(`oauthGrant-${account.customerId}-${grantId}`)).map(
    ({ type, data, metadata: { actor } }) => ({
      type,
      data,
      actor,
    }),
  );
const appsOf = async (token: string): Promise<readonly ConnectedApp[]> => {
  const answer = await fetch(`${baseUrl}/api/v2/accounts/current/connected-apps`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { data: ConnectedApp[] }).data;
};

describe('openid-client', () => {
  it('discovers, registers, gets consent, calls the API, refreshes and revokes', async () => {
    const insecure = { algorithm: 'oauth2' as const, execute: [openid.allowInsecureRequests] };
    const client = await openid.dynamicClientRegistration(
      new URL(baseUrl),
      metadata,
      openid.None(),
      insecure,
    );
    const verifier = openid.randomPKCECodeVerifier();
    const state = openid.randomState();
    const url = openid.buildAuthorizationUrl(client, {
      redirect_uri: REDIRECT_URI,
      scope: 'exchange:read exchange:write',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      resource: `${baseUrl}/api/v2/buyer`,
      state,
    });
    const to = await browser().authorize(url);
    const tokens = await openid.authorizationCodeGrant(client, to, {
      pkceCodeVerifier: verifier,
      expectedState: state,
    });
    expect(tokens).toEqual({
      access_token: expect.stringMatching(/^at_[\w-]{43}$/),
      refresh_token: expect.stringMatching(/^rt_[\w-]{43}$/),
      token_type: 'bearer',
      scope: 'exchange:read exchange:write',
      expires_in: 3_600,
    });
    expect((await useToken(baseUrl, tokens.access_token)).status).toBe(200);

    const next = await openid.refreshTokenGrant(client, tokens.refresh_token ?? '');
    expect(next.refresh_token).not.toBe(tokens.refresh_token);
    expect((await useToken(baseUrl, next.access_token)).status).toBe(200);

    await openid.tokenRevocation(client, next.refresh_token ?? '');
    expect((await useToken(baseUrl, next.access_token)).status).toBe(401);
    await expect(openid.refreshTokenGrant(client, next.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });
});

describe('oauth4webapi', () => {
  it('discovers, registers, gets consent, calls the API, refreshes and revokes', async () => {
    const insecure = { [oauth4webapi.allowInsecureRequests]: true };
    const issuer = new URL(baseUrl);
    const server = await oauth4webapi.processDiscoveryResponse(
      issuer,
      await oauth4webapi.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
    );
    const client = await oauth4webapi.processDynamicClientRegistrationResponse(
      await oauth4webapi.dynamicClientRegistrationRequest(server, metadata, insecure),
    );
    const { verifier, challenge } = pkce();
    const url = new TestClient(baseUrl, client.client_id).authorizationUrl(challenge, { state: undefined });
    const parameters = oauth4webapi.validateAuthResponse(server, client, await browser().authorize(url));
    const tokens = await oauth4webapi.processAuthorizationCodeResponse(
      server,
      client,
      await oauth4webapi.authorizationCodeGrantRequest(
        server,
        client,
        oauth4webapi.None(),
        parameters,
        REDIRECT_URI,
        verifier,
        insecure,
      ),
    );
    const read = () =>
      oauth4webapi.protectedResourceRequest(
        tokens.access_token,
        'GET',
        new URL(`${baseUrl}/api/v2/accounts/current`),
        undefined,
        undefined,
        insecure,
      );
    expect(await (await read()).json()).toMatchObject({ data: { company: 'Acme Ltd', role: 'admin' } });
    const refreshed = await oauth4webapi.processRefreshTokenResponse(
      server,
      client,
      await oauth4webapi.refreshTokenGrantRequest(
        server,
        client,
        oauth4webapi.None(),
        tokens.refresh_token ?? '',
        insecure,
      ),
    );
    await oauth4webapi.processRevocationResponse(
      await oauth4webapi.revocationRequest(
        server,
        client,
        oauth4webapi.None(),
        refreshed.access_token,
        insecure,
      ),
    );
    await expect(read()).rejects.toMatchObject({
      name: 'WWWAuthenticateChallengeError',
      status: 401,
      cause: [{ scheme: 'bearer', parameters: { error: 'invalid_token' } }],
    });
  });
});

describe('metadata', () => {
  it('of the authorization server: RFC 8414, for pages of any origin', async () => {
    const answer = await fetch(`${baseUrl}/.well-known/oauth-authorization-server`, {
      headers: { Origin: 'https://inspector.example.com', Host: 'evil.example.com' },
    });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
    expect(await answer.json()).toEqual({
      issuer: baseUrl,
      authorization_endpoint: `${baseUrl}/authorize`,
      token_endpoint: `${baseUrl}/auth/token`,
      registration_endpoint: `${baseUrl}/auth/register`,
      revocation_endpoint: `${baseUrl}/auth/revoke`,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      scopes_supported: [
        'exchange:read',
        'exchange:write',
        'exchange:admin',
        'exchange:review',
        'offline_access',
      ],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    });
  });

  it.each(['', '/mcp', '/mcp/v3', '/adcp/mcp', '/api/v2/buyer'])(
    'of the protected resource %j',
    async (path) => {
      const answer = await fetch(`${baseUrl}/.well-known/oauth-protected-resource${path}`);
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
      expect(await answer.json()).toMatchObject({
        resource: `${baseUrl}${path}`,
        authorization_servers: [baseUrl],
        bearer_methods_supported: ['header'],
      });
    },
  );

  it.each([
    ['/.well-known/oauth-authorization-server', 'GET'],
    ['/.well-known/oauth-protected-resource/mcp', 'GET'],
    ['/auth/register', 'POST'],
  ])('lets pages of any origin send a preflight for %s', async (path, method) => {
    const answer = await fetch(`${baseUrl}${path}`, {
      method: 'OPTIONS',
      headers: {
        Origin: 'https://inspector.example.com',
        'Access-Control-Request-Method': method,
        'Access-Control-Request-Headers': 'mcp-protocol-version,content-type',
      },
    });
    const header = (name: string) => answer.headers.get(`access-control-allow-${name}`) ?? '';
    expect([answer.status, header('origin')]).toEqual([204, '*']);
    expect(header('methods')).toContain(method);
    expect(header('headers')).toMatch(/content-type.*mcp-protocol-version/i);
    expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
  });

  it.each([
    '/.well-known/openid-configuration',
    '/.well-known/jwks.json',
    '/jwks',
    '/auth/end',
    '/me',
    '/session/end',
  ])('has no %s: this is not an OpenID provider', async (path) => {
    expect((await fetch(`${baseUrl}${path}`)).status).toBe(404);
  });
});

describe('tokens and pages of other origins', () => {
  const call = async (client: TestClient, origin: string) => {
    const answer = await fetch(`${baseUrl}/auth/token`, {
      method: 'POST',
      headers: { Origin: origin },
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        client_id: client.clientId,
        refresh_token: 'x',
      }),
    });
    return [
      answer.headers.get('access-control-allow-origin'),
      ((await answer.json()) as { error: string }).error,
    ];
  };

  it('are for the origins of the redirect URIs of the client', async () => {
    const client = await TestClient.register(baseUrl, { redirect_uris: ['https://app.example.com/cb'] });
    expect(await call(client, 'https://app.example.com')).toEqual([
      'https://app.example.com',
      'invalid_grant',
    ]);
    expect(await call(client, 'https://evil.example.com')).toEqual([null, 'invalid_request']);
    expect(await call(client, 'null')).toEqual([null, 'invalid_request']);
  });

  it('may send a preflight', async () => {
    for (const path of ['/auth/token', '/auth/revoke']) {
      const answer = await fetch(`${baseUrl}${path}`, {
        method: 'OPTIONS',
        headers: { Origin: 'https://app.example.com', 'Access-Control-Request-Method': 'POST' },
      });
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    }
  });
});

describe('scopes', () => {
  it('are those of the role if the client asks for none, and the token answer says so', async () => {
    const client = await TestClient.register(baseUrl);
    expect((await client.tokens(browser())).scope).toBe('exchange:read exchange:write exchange:admin');
    const member = await oauth.addUser(account, 'member');
    expect((await client.tokens(oauth.browserOf(account, member))).scope).toBe(
      'exchange:read exchange:write',
    );
  });

  it('are fewer if the user leaves some out', async () => {
    const client = await TestClient.register(baseUrl);
    const { verifier, challenge } = pkce();
    const to = await browser().authorize(client.authorizationUrl(challenge), {
      decision: 'allow',
      scopes: ['exchange:read'],
    });
    const { body } = await client.redeem({ code: to.searchParams.get('code') ?? '', verifier });
    expect(body.scope).toBe('exchange:read');
  });

  it('that are unknown are ignored, and so is what belongs to OpenID Connect', async () => {
    const client = await TestClient.register(baseUrl);
    const scope = 'openid profile exchange:read offline_access';
    const { scope: granted } = await client.tokens(browser(), { scope, nonce: 'n', max_age: '5' });
    expect(granted).toBe('exchange:read');
  });

  it('that are missing: 403 names them for a new authorization, whose token has both', async () => {
    const client = await TestClient.register(baseUrl);
    const { access_token: token } = await client.tokens(browser(), { scope: 'exchange:read' });
    const create = (accessToken: string) =>
      fetch(`${baseUrl}/api/v2/buyer/advertisers`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${accessToken}`, 'Content-Type': 'application/json' },
        body: '{"name":"Nile"}',
      });
    const refused = await create(token);
    const challenge = refused.headers.get('www-authenticate') ?? '';
    expect([refused.status, challenge]).toEqual([403, expect.stringContaining('error="insufficient_scope"')]);
    const scope = /scope="([^"]+)"/.exec(challenge)?.[1];
    expect(scope).toBe('exchange:read exchange:write');
    const { access_token: more } = await client.tokens(browser(), { scope });
    expect((await create(more)).status).toBe(201);
  });
});

describe('resources', () => {
  const protectedBy = async (token: string) => (await useToken(baseUrl, token)).status;

  it.each([
    ['of the API', '/api/v2/buyer', 200],
    ['of the API, with a slash', '/api/v2/buyer/', 200],
    ['of the service', '', 200],
    ['of MCP', '/mcp', 401],
    ['of MCP, with a slash', '/mcp/', 401],
    ['of a version of MCP', '/mcp/v3', 401],
    ['of AdCP', '/adcp/mcp', 401],
  ])('a token %s', async (_what, path, status) => {
    const client = await TestClient.register(baseUrl);
    const { access_token: token } = await client.tokens(browser(), { resource: `${baseUrl}${path}` });
    expect(await protectedBy(token)).toBe(status);
  });

  it('a token of a client that names none is good for all', async () => {
    const client = await TestClient.register(baseUrl);
    expect(await protectedBy((await client.tokens(browser())).access_token)).toBe(200);
  });

  it('the token request may name the same resource in another notation', async () => {
    const client = await TestClient.register(baseUrl);
    const authorized = await client.authorize(browser(), { resource: `${baseUrl}/mcp` });
    expect((await client.redeem(authorized, { resource: `${baseUrl}/mcp/` })).status).toBe(200);
  });

  it('of others are refused', async () => {
    const client = await TestClient.register(baseUrl);
    const answer = await fetch(
      client.authorizationUrl(pkce().challenge, { resource: 'https://other.example/mcp' }),
      {
        redirect: 'manual',
      },
    );
    expect(new URL(answer.headers.get('location') ?? '').searchParams.get('error')).toBe('invalid_target');
  });
});

describe('consent', () => {
  it('shows who asks for what, and who is signed in', async () => {
    const client = await TestClient.register(baseUrl, { client_name: 'Planner' });
    const page = browser();
    const uid = await page.start(client.authorizationUrl(pkce().challenge, { scope: 'exchange:read' }));
    const answer = await page.fetch(`/api/console/oauth/${uid}`);
    expect(await answer.json()).toEqual({
      data: {
        client: { id: client.clientId, name: 'Planner', isVerified: false, registration: 'self' },
        redirectHost: '127.0.0.1:4710',
        scopes: [{ scope: 'exchange:read', description: expect.stringMatching(/^See/) }],
        resources: [baseUrl],
        lifetimeDays: 90,
        account: { company: 'Acme Ltd', userName: 'Administrator' },
      },
      error: null,
    });
  });

  it('is an event with the session as its cause', async () => {
    const client = await TestClient.register(baseUrl, { client_name: 'Planner' });
    const { access_token: token } = await client.tokens(browser(), { scope: 'exchange:read' });
    const [app] = await appsOf(token);
    expect(await eventsOf(app?.grantId ?? '')).toEqual([
      {
        type: 'OAuthClientAuthorized',
        actor: expect.stringMatching(/^session:/),
        data: {
          grantId: app?.grantId,
          userId: `${account.customerId}-1`,
          clientId: client.clientId,
          clientName: 'Planner',
          scopes: ['exchange:read'],
          resources: [baseUrl],
        },
      },
    ]);
  });

  it('that is denied tells the client', async () => {
    const client = await TestClient.register(baseUrl);
    const to = await browser().authorize(client.authorizationUrl(pkce().challenge), { decision: 'deny' });
    expect(Object.fromEntries(to.searchParams)).toMatchObject({
      error: 'access_denied',
      state: 'the state',
      iss: baseUrl,
    });
    expect(to.searchParams.has('code')).toBe(false);
  });

  it('that is denied after it was allowed leaves no app, and cannot be allowed again', async () => {
    const client = await TestClient.register(baseUrl);
    const page = browser();
    const uid = await page.start(client.authorizationUrl(pkce().challenge));
    const grantsOf = async () => {
      const { rows } = await oauth.service.pool.query<{ id: string; ended: boolean }>(
        `select grant_id as id, revoked_at is not null as ended from oauth_grants where client_id = $1`,
        [client.clientId],
      );
      return rows;
    };
    expect((await page.decide(uid, { decision: 'allow' })).status).toBe(200);
    const [grant] = await grantsOf();
    expect(grant?.ended).toBe(false);
    const denied = await page.decide(uid, { decision: 'deny' });
    expect(await grantsOf()).toEqual([{ ...grant, ended: true }]);
    expect((await eventsOf(grant?.id ?? '')).map(({ type, data }) => [type, data['by']])).toEqual([
      ['OAuthClientAuthorized', undefined],
      ['OAuthGrantRevoked', 'user'],
    ]);
    expect((await page.decide(uid, { decision: 'allow' })).status).toBe(409);
    const { data } = (await denied.json()) as { data: { redirectTo: string } };
    const to = new URL((await page.fetch(data.redirectTo)).headers.get('location') ?? '');
    expect([to.searchParams.get('error'), to.searchParams.has('code')]).toEqual(['access_denied', false]);
  });

  it('of another user, in the same browser, ends that of the first', async () => {
    const client = await TestClient.register(baseUrl);
    const page = browser();
    const uid = await page.start(client.authorizationUrl(pkce().challenge));
    await page.decide(uid, { decision: 'allow' });
    const other = await oauth.service.openAccount();
    page.signIn(oauth.signIn(`${other.customerId}-1`));
    expect((await page.decide(uid, { decision: 'allow' })).status).toBe(200);
    const { rows } = await oauth.service.pool.query(
      `select customer_id::int as account from oauth_grants where client_id = $1 and revoked_at is null`,
      [client.clientId],
    );
    expect(rows).toEqual([{ account: other.customerId }]);
  });

  it.each([
    ['prompt=login', { prompt: 'login' }, '1 minute', true],
    ['max_age=300', { max_age: '300' }, '6 minutes', true],
    ['max_age=300', { max_age: '300' }, '4 minutes', false],
    ['no parameter', {}, '1 day', false],
  ])('with %s %j, of a session that began %s ago, asks for the password: %s', async (...given) => {
    const [, parameters, age, isAsked] = given;
    const client = await TestClient.register(baseUrl);
    const secret = await oauth.signIn(`${account.customerId}-1`);
    await oauth.service.pool.query(
      `update sessions set auth_time = now() - $2::interval where secret_hash = sha256($1::bytea)`,
      [secret, age],
    );
    const page = oauth.browserOf(account);
    page.signIn(Promise.resolve(secret));
    const { verifier, challenge } = pkce();
    const uid = await page.start(client.authorizationUrl(challenge, parameters));
    const answers = [
      await page.fetch(`/api/console/oauth/${uid}`),
      await page.decide(uid, { decision: 'allow' }),
    ];
    const status = isAsked ? 401 : 200;
    expect(answers.map((answer) => answer.status)).toEqual([status, status]);
    if (isAsked) {
      expect(await answers[0]?.json()).toMatchObject({
        error: { code: 'UNAUTHORIZED', details: { reason: 'sign-in-again' } },
      });
      page.signIn(oauth.signIn(`${account.customerId}-1`));
    }
    const decided = await page.decide(uid, { decision: 'allow' });
    const { data } = (await decided.json()) as { data: { redirectTo: string } };
    const to = new URL((await page.fetch(data.redirectTo)).headers.get('location') ?? '');
    const tokens = await client.redeem({ code: to.searchParams.get('code') ?? '', verifier });
    expect(tokens.status).toBe(200);
  });

  it('is asked again each time, also by the same browser', async () => {
    const client = await TestClient.register(baseUrl);
    const page = browser();
    await client.tokens(page);
    expect(await page.start(client.authorizationUrl(pkce().challenge))).toMatch(/^[\w-]{43}$/);
  });

  it('with prompt=none fails, because no user would be asked', async () => {
    const client = await TestClient.register(baseUrl);
    const answer = await browser().fetch(client.authorizationUrl(pkce().challenge, { prompt: 'none' }));
    const to = new URL(answer.headers.get('location') ?? '');
    expect(to.searchParams.get('error')).toBe('login_required');
  });

  it('of the user who is signed in at the time, not of an earlier one', async () => {
    const client = await TestClient.register(baseUrl);
    const page = browser();
    await client.tokens(page);
    const member = await oauth.addUser(account, 'member');
    page.signIn(oauth.signIn(member));
    const { access_token: token } = await client.tokens(page);
    expect((await appsOf(token)).map(({ userId }) => userId)).toEqual([member]);
  });

  it('needs a scope that the role allows', async () => {
    const client = await TestClient.register(baseUrl);
    const page = oauth.browserOf(account, await oauth.addUser(account, 'member'));
    const uid = await page.start(client.authorizationUrl(pkce().challenge, { scope: 'exchange:admin' }));
    expect(await (await page.decide(uid, { decision: 'allow' })).json()).toMatchObject({
      error: { code: 'VALIDATION_ERROR', field: 'scopes' },
    });
  });

  it('twice, as by a double click, is one grant', async () => {
    const client = await TestClient.register(baseUrl);
    const page = browser();
    const { verifier, challenge } = pkce();
    const uid = await page.start(client.authorizationUrl(challenge, { scope: 'exchange:read' }));
    const answers = await Promise.all([1, 2].map(() => page.decide(uid, { decision: 'allow' })));
    const [first, second] = await Promise.all(answers.map((one) => one.text()));
    expect(second).toBe(first);
    const { data } = JSON.parse(first ?? '') as { data: { redirectTo: string } };
    const to = new URL((await page.fetch(data.redirectTo)).headers.get('location') ?? '');
    const { body } = await client.redeem({ code: to.searchParams.get('code') ?? '', verifier });
    expect((await appsOf(body.access_token)).filter((app) => app.client.id === client.clientId)).toHaveLength(
      1,
    );
  });
});

describe('connected apps', () => {
  const revoke = async (token: string, grantId: string) =>
    (
      await fetch(`${baseUrl}/api/v2/accounts/current/connected-apps/${grantId}`, {
        method: 'DELETE',
        headers: { Authorization: `Bearer ${token}` },
      })
    ).status;

  it('lists those of the user, to an admin all of the account; never those of another account', async () => {
    const client = await TestClient.register(baseUrl);
    const own = await oauth.service.openAccount();
    const member = await oauth.addUser(own, 'member');
    const admins = await client.tokens(oauth.browserOf(own));
    const members = await client.tokens(oauth.browserOf(own, member));
    expect((await appsOf(members.access_token)).map(({ userId }) => userId)).toEqual([member]);
    expect((await appsOf(admins.access_token)).map(({ userId }) => userId)).toEqual([
      member,
      `${own.customerId}-1`,
    ]);
  });

  it('revokes one: its tokens are refused on their next request, and its event says who did it', async () => {
    const client = await TestClient.register(baseUrl);
    const { access_token: token, refresh_token: refresh } = await client.tokens(browser());
    const [app] = await appsOf(token);
    expect(await revoke(account.apiKey, app?.grantId ?? '')).toBe(204);
    expect((await useToken(baseUrl, token)).status).toBe(401);
    expect((await client.refresh(refresh)).body.error).toBe('invalid_grant');
    expect((await eventsOf(app?.grantId ?? '')).at(-1)).toMatchObject({
      type: 'OAuthGrantRevoked',
      data: { by: 'user' },
      actor: expect.stringMatching(/^api-key:/),
    });
    expect(await revoke(account.apiKey, app?.grantId ?? '')).toBe(204);
    expect(await eventsOf(app?.grantId ?? '')).toHaveLength(2);
  });

  it("another user's needs the admin; another account's does not exist", async () => {
    const client = await TestClient.register(baseUrl);
    const member = await oauth.addUser(account, 'member');
    const admins = await client.tokens(browser(), { scope: 'exchange:read exchange:write exchange:admin' });
    const members = await client.tokens(oauth.browserOf(account, member));
    const all = await appsOf(admins.access_token);
    const grantOf = (userId: string): string => all.find((app) => app.userId === userId)?.grantId ?? '';
    const other = await oauth.service.openAccount();
    const grantId = grantOf(member);
    expect(await revoke(members.access_token, grantOf(`${account.customerId}-1`))).toBe(404);
    expect(await revoke(members.access_token, 'no-such-grant')).toBe(404);
    expect(await revoke(other.apiKey, grantId)).toBe(404);
    expect((await useToken(baseUrl, members.access_token)).status).toBe(200);
    expect(await revoke(admins.access_token, grantId)).toBe(204);
    expect((await eventsOf(grantId)).at(-1)?.data).toEqual({ by: 'admin' });
    expect((await useToken(baseUrl, members.access_token)).status).toBe(401);
  });
});

describe('a token', () => {
  it('loses the scopes that its user has lost, and everything with the account', async () => {
    const own = await oauth.service.openAccount();
    const client = await TestClient.register(baseUrl);
    const { access_token: token, refresh_token: refresh } = await client.tokens(oauth.browserOf(own));
    const keys = () => useToken(baseUrl, token, '/api/v2/buyer/api-keys').then(({ status }) => status);
    expect(await keys()).toBe(200);
    await oauth.service.pool.query(`update users set role = 'member' where customer_id = $1`, [
      own.customerId,
    ]);
    expect(await keys()).toBe(403);
    await setAccess(oauth.service.installation, own.customerId, 'disabled');
    expect(await keys()).toBe(401);
    expect((await client.refresh(refresh)).body.error).toBe('invalid_grant');
  });

  it('that has expired says so, for a day; it does not count as a failed credential', async () => {
    const client = await TestClient.register(baseUrl);
    const { access_token: token } = await client.tokens(browser());
    await oauth.service.pool.query(
      `update oauth_records set expires_at = now() - interval '1 minute' where kind = 'AccessToken'`,
    );
    const answer = await useToken(baseUrl, token);
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('error="invalid_token", error_description="The access token expired"'),
    ]);
  });

  it('is in no table in the clear, and neither is a code', async () => {
    const client = await TestClient.register(baseUrl);
    const authorized = await client.authorize(browser());
    const { body } = await client.redeem(authorized);
    const { rows } = await oauth.service.pool.query<{ all: string }>(
      `select string_agg(r::text, ' ') || (select string_agg(g::text, ' ') from oauth_grants g) as all
       from oauth_records r`,
    );
    for (const secret of [authorized.code, body.access_token, body.refresh_token]) {
      expect(rows[0]?.all).not.toContain(secret);
      expect(rows[0]?.all).not.toContain(secret.slice(3));
      expect(rows[0]?.all).not.toContain(Buffer.from(secret).toString('hex'));
    }
    expect(JSON.stringify(await oauth.service.readLog())).not.toContain(body.refresh_token.slice(3));
  });

  it('records the last use of its app', async () => {
    const client = await TestClient.register(baseUrl);
    const { access_token: token } = await client.tokens(browser());
    expect((await appsOf(token))[0]?.lastUsedAt).toBeUndefined();
    const use = createKeyUse(oauth.service.pool, systemClock, grantUses);
    const verify = verifyAccessToken(
      oauth.service.pool,
      () => baseUrl,
      (grantId) => use.used(grantId),
    );
    expect((await verify(token, {}, '/api/v2/buyer')).outcome).toBe('verified');
    await use.flush();
    expect((await appsOf(token))[0]?.lastUsedAt).toMatch(/^2\d{3}-/);
  });
});

it('registers with 201 and what the client was given', async () => {
  const answer = await registerClient(baseUrl, {
    client_name: 'Planner',
    scope: 'exchange:read',
    logo_uri: 'https://x.example/l',
  });
  expect([answer.status, await answer.json()]).toEqual([
    201,
    {
      client_id: expect.any(String),
      client_id_issued_at: expect.any(Number),
      client_name: 'Planner',
      redirect_uris: [REDIRECT_URI],
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
  ]);
});
