import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { oldRows } from '../../shared/postgres/old-rows.ts';
import type { OAuthBrowser } from '../support/oauth-browser.ts';
import {
  pkce,
  postForm,
  registerClient,
  startOAuthService,
  TestClient,
  useToken,
  type OAuthService,
} from '../support/oauth-service.ts';
import type { TestAccount } from '../support/running-service.ts';

/** What an attacker sends to the authorization server (security of OAuth: RFC 9700). */

let oauth: OAuthService;
let account: TestAccount;
let baseUrl: string;
let client: TestClient;
let browser: OAuthBrowser;
beforeAll(async () => {
  oauth = await startOAuthService();
  ({ baseUrl } = oauth.service);
  account = await oauth.service.openAccount();
  client = await TestClient.register(baseUrl);
  browser = oauth.browserOf(account);
});
afterAll(() => oauth.service.stop());

const { challenge, verifier } = pkce();
const ask = (changed: Readonly<Record<string, string | undefined>>) =>
  browser.fetch(client.authorizationUrl(challenge, changed));
const errorIn = (answer: Response): string | null =>
  new URL(answer.headers.get('location') ?? '').searchParams.get('error');

describe('a redirect URI', () => {
  it.each([
    'http://127.0.0.1:4710/callback/more',
    'http://127.0.0.1:4710/callback?next=1',
    'http://127.0.0.1:4710/callback#part',
    'http://127.0.0.1:4710/CALLBACK',
    'http://127.0.0.1:4710/callback/../evil',
    'http://127.0.0.1:4710/a/../callback',
    'http://127.0.0.1:4710/callback/',
    'http://127.0.0.1:4710//callback',
    'http://127.0.0.1:4710/%63allback',
    'http://user@127.0.0.1:4710/callback',
    'http://127.0.0.1:4710@evil.example/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://localhost:4710/callback',
    'https://127.0.0.1:4710/callback',
    'http://127.0.0.2:4710/callback',
    'http://127.1:4710/callback',
    'http://evil.example/callback',
    'javascript:alert(1)',
    'data:text/html,x',
    '',
  ])('%j that was not registered gets a page, and no redirect', async (redirectUri) => {
    const answer = await ask({ redirect_uri: redirectUri });
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
    expect(answer.headers.get('content-type')).toMatch(/^text\/html/);
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    await answer.text();
  });

  it('on loopback may have another port (RFC 8252, 7.3)', async () => {
    expect((await ask({ redirect_uri: 'http://127.0.0.1:51234/callback' })).status).toBe(303);
  });

  it('of a web client must be the same to the port', async () => {
    const web = await TestClient.register(baseUrl, { redirect_uris: ['https://app.example.com/cb'] });
    const statusOf = async (redirectUri: string): Promise<number> =>
      (await browser.fetch(web.authorizationUrl(challenge, { redirect_uri: redirectUri }))).status;
    expect(await statusOf('https://app.example.com/cb')).toBe(303);
    expect(await statusOf('https://app.example.com:8443/cb')).toBe(400);
    expect(await statusOf('https://app.example.com.evil.example/cb')).toBe(400);
  });

  it('must be repeated at the token endpoint', async () => {
    const { code, verifier: own } = await client.authorize(browser);
    const other = await client.redeem(
      { code, verifier: own },
      { redirect_uri: 'http://127.0.0.1:9/callback' },
    );
    expect(other.body.error).toBe('invalid_grant');
    const none = await client.redeem({ code, verifier: own }, { redirect_uri: undefined });
    expect(none.body.error).toBe('invalid_request');
  });

  it('that is missing gets a page, also if the client has only one', async () => {
    expect((await ask({ redirect_uri: undefined })).status).toBe(400);
  });
});

it('an unknown client gets a page, whose text cannot be a script', async () => {
  const answer = await fetch(`${baseUrl}/authorize?client_id=%3Cscript%3E&response_type=%3Cscript%3E`);
  const text = await answer.text();
  expect(answer.status).toBe(400);
  expect(text).not.toContain('<script>');
});

it('an unknown client gets 401 invalid_client, so that it registers again', async () => {
  const unknown = new TestClient(baseUrl, 'reaped');
  const answer = await unknown.refresh('rt_x');
  expect([answer.status, answer.body.error]).toEqual([401, 'invalid_client']);
});

describe('PKCE', () => {
  it.each([
    ['missing', { code_challenge: undefined, code_challenge_method: undefined }],
    ['without a method', { code_challenge_method: undefined }],
    ['plain', { code_challenge: verifier, code_challenge_method: 'plain' }],
    ['of an unknown method', { code_challenge_method: 'S512' }],
    ['too short', { code_challenge: 'short' }],
  ])('%s is refused', async (_what, changed) => {
    expect(errorIn(await ask(changed))).toBe('invalid_request');
  });

  it.each([
    ['another verifier', { code_verifier: pkce().verifier }],
    ['no verifier', { code_verifier: undefined }],
    ['the challenge as verifier', { code_verifier: challenge }],
  ])('%s gets no token', async (_what, changed) => {
    const answer = await client.redeem(await client.authorize(browser), changed);
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_grant']);
  });
});

describe('a code', () => {
  it('of one client does not work for another', async () => {
    const authorized = await client.authorize(browser);
    const stranger = await TestClient.register(baseUrl);
    expect((await stranger.redeem(authorized)).body.error).toBe('invalid_grant');
    expect((await client.redeem(authorized)).status).toBe(200);
  });

  it('does not work as an access token, nor does a refresh token', async () => {
    const { code } = await client.authorize(browser);
    const { refresh_token: refresh, access_token: access } = await client.tokens(browser);
    for (const token of [code, `at_${code}`, refresh, refresh.replace('rt_', 'at_')]) {
      expect((await useToken(baseUrl, token)).status).toBe(401);
    }
    expect((await client.refresh(access)).body.error).toBe('invalid_grant');
  });
});

it.each(['token', 'id_token', 'code token', 'none'])('response_type=%s is refused', async (responseType) => {
  const location = (await ask({ response_type: responseType })).headers.get('location') ?? '';
  expect(location).toMatch(/error=(?:unsupported_response_type|invalid_request)/);
  expect(location).not.toMatch(/token=|code=/);
});

it.each(['fragment', 'form_post', 'web_message', 'jwt'])('response_mode=%s is refused', async (mode) => {
  const answer = await ask({ response_mode: mode });
  expect(answer.headers.get('location') ?? (await answer.text())).toMatch(
    /invalid_request|unsupported_response_mode/,
  );
});

it.each(['password', 'client_credentials', 'implicit', 'urn:ietf:params:oauth:grant-type:device_code'])(
  'grant_type=%s is refused',
  async (grantType) => {
    const answer = await postForm(`${baseUrl}/auth/token`, {
      grant_type: grantType,
      client_id: client.clientId,
      username: 'a',
      password: 'b',
    });
    expect([answer.status, answer.body.error]).toEqual([400, 'unsupported_grant_type']);
  },
);

it.each(['request', 'request_uri', 'registration'])('the parameter %s is refused', async (name) => {
  const answer = await ask({ [name]: 'https://evil.example/x' });
  expect(errorIn(answer)).toMatch(/not_supported$/);
});

it('a repeated parameter is refused', async () => {
  const url = `${client.authorizationUrl(challenge)}&state=other`;
  expect(errorIn(await browser.fetch(url))).toBe('invalid_request');
});

describe('U+0000, which Postgres does not store,', () => {
  it.each([
    ['state', { state: 'a\0b' }, 303],
    ['login_hint', { login_hint: '\0' }, 303],
    ['client_id', { client_id: 'a\0b' }, 400],
    ['client_id', { client_id: 'https://app.example.com/\0' }, 400],
    ['redirect_uri', { redirect_uri: 'http://127.0.0.1:4710/callback\0' }, 400],
  ])('in %s of an authorization is the fault of the client', async (_name, changed, status) => {
    const answer = await ask(changed);
    await answer.text();
    expect(answer.status).toBe(status);
  });

  it.each(['token', 'revoke'])('in the client id is that of an unknown client: %s', async (endpoint) => {
    const { status, body } = await postForm(`${baseUrl}/auth/${endpoint}`, {
      client_id: 'a\0b',
      grant_type: 'refresh_token',
      refresh_token: 'rt_x',
      token: 'rt_x',
    });
    expect([status, body.error]).toEqual([401, 'invalid_client']);
  });
});

it.each(['..\\jwks', '..\\.well-known\\openid-configuration', '..', '%2e%2e\\jwks'])(
  'what the library serves besides is out of reach: /authorize/%s',
  async (last) => {
    const { port } = oauth.service;
    const answer = await new Promise<number | undefined>((resolve, reject) => {
      const asked = httpRequest({ port, host: '127.0.0.1', path: `/authorize/${last}` }, (got) => {
        got.resume();
        resolve(got.statusCode);
      });
      asked.once('error', reject).end();
    });
    expect([400, 404]).toContain(answer);
  },
);

it('the answer names the issuer and repeats the state', async () => {
  const { to } = await client.authorize(browser, { state: 'a b&c=d' });
  expect([to.searchParams.get('iss'), to.searchParams.get('state')]).toEqual([baseUrl, 'a b&c=d']);
});

it('tokens are not cached', async () => {
  const answer = await client.redeem(await client.authorize(browser));
  expect(answer.headers.get('cache-control')).toBe('no-store');
});

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a signed token (JWT)', () => {
  const claims = (): string =>
    base64url({ iss: baseUrl, aud: `${baseUrl}/api/v2/buyer`, sub: `${account.customerId}-1`, exp: 2 ** 31 });
  it.each([
    ['without a signature', { alg: 'none' }, ''],
    ['with a symmetric signature', { alg: 'HS256', kid: '../../dev/null' }, 'c2ln'],
    ['with a key to fetch', { alg: 'RS256', jku: 'http://169.254.169.254/jwks' }, 'c2ln'],
  ])('%s is unknown', async (_what, header, signature) => {
    const answer = await useToken(
      baseUrl,
      `${base64url({ typ: 'at+jwt', ...header })}.${claims()}.${signature}`,
    );
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('error="invalid_token"'),
    ]);
  });
});

describe('the Host header', () => {
  it('has no influence on addresses', async () => {
    const { port } = new URL(baseUrl);
    const location = await new Promise<string>((resolve, reject) => {
      const { pathname, search } = new URL(client.authorizationUrl(challenge));
      const sent = httpRequest(
        {
          host: '127.0.0.1',
          port,
          path: `${pathname}${search}`,
          headers: { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' },
        },
        (answer) => {
          answer.resume();
          resolve(JSON.stringify(answer.headers));
        },
      );
      sent.on('error', reject).end();
    });
    expect(location).not.toContain('evil');
    expect(location).toContain('/console/oauth/');
  });
});

describe('consent', () => {
  it('counts only in the browser that began: otherwise an attacker gets the code of a user who opens a link', async () => {
    const attacker = oauth.browserOf(account);
    const uid = await attacker.start(client.authorizationUrl(challenge));
    const victim = oauth.browserOf(account);
    expect((await victim.fetch(`/api/console/oauth/${uid}`)).status).toBe(404);
    expect((await victim.decide(uid, { decision: 'allow' })).status).toBe(404);
    const resumed = await attacker.fetch(`/authorize/${uid}`);
    expect(resumed.headers.get('location') ?? '').not.toContain('code=');
  });

  it('is finished only in the browser that began', async () => {
    const page = oauth.browserOf(account);
    const uid = await page.start(client.authorizationUrl(challenge));
    await (await page.decide(uid, { decision: 'allow' })).text();
    const stranger = await oauth.browserOf(account).fetch(`/authorize/${uid}`);
    expect([stranger.status, stranger.headers.get('location')]).toEqual([400, null]);
    expect((await page.fetch(`/authorize/${uid}`)).headers.get('location')).toContain('code=');
  });

  it('of two tabs is each for its own client', async () => {
    const page = oauth.browserOf(account);
    const second = await TestClient.register(baseUrl, { client_name: 'Second' });
    const [one, two] = [
      await page.start(client.authorizationUrl(challenge)),
      await page.start(second.authorizationUrl(challenge)),
    ];
    const nameOf = async (uid: string) =>
      (
        (await (await page.fetch(`/api/console/oauth/${uid}`)).json()) as {
          data: { client: { name: string } };
        }
      ).data.client.name;
    expect([await nameOf(one), await nameOf(two)]).toEqual(['Test app', 'Second']);
  });

  it.each([
    ['no origin', {}],
    ['another origin', { Origin: 'https://evil.example' }],
    ['no origin to tell', { Origin: 'null' }],
    ['an origin that looks alike', { Origin: 'http://127.0.0.1.evil.example' }],
    ['a page of another site', { 'Sec-Fetch-Site': 'cross-site' }],
  ])('from %s is refused', async (_what, headers) => {
    const page = oauth.browserOf(account);
    const uid = await page.start(client.authorizationUrl(challenge));
    const answer = await page.fetch(`/api/console/oauth/${uid}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: '{"decision":"allow"}',
    });
    expect(answer.status).toBe(403);
  });

  it.each(['application/x-www-form-urlencoded', 'text/plain'])('as %s is refused', async (type) => {
    const page = oauth.browserOf(account);
    const uid = await page.start(client.authorizationUrl(challenge));
    const answer = await page.fetch(`/api/console/oauth/${uid}`, {
      method: 'POST',
      headers: { 'Content-Type': type, Origin: new URL(baseUrl).origin },
      body: 'decision=allow',
    });
    expect(answer.status).toBe(415);
  });

  it('needs a signed-in person: neither an API key nor a token will do', async () => {
    const page = oauth.browserOf(account);
    const uid = await page.start(client.authorizationUrl(challenge));
    const { access_token: token } = await client.tokens(oauth.browserOf(account));
    for (const [credential, status] of [
      [account.apiKey, 403],
      [token, 403],
      ['', 401],
    ] as const) {
      const answer = await fetch(`${baseUrl}/api/console/oauth/${uid}`, {
        headers: credential === '' ? {} : { Authorization: `Bearer ${credential}` },
      });
      expect(answer.status).toBe(status);
    }
  });

  it('expires after 15 minutes', async () => {
    const page = oauth.browserOf(account);
    const uid = await page.start(client.authorizationUrl(challenge));
    await oauth.service.pool.query(
      `update oauth_records set payload = payload || jsonb_build_object('exp', extract(epoch from now())::int - 6)
       where kind = 'Interaction'`,
    );
    expect((await page.fetch(`/api/console/oauth/${uid}`)).status).toBe(404);
  });

  it('is stored no longer than it can be decided: anyone can start one, with much text', async () => {
    const { pool } = oauth.service;
    const page = oauth.browserOf(account);
    await client.tokens(page);
    const state = randomBytes(4_000).toString('hex');
    await page.start(client.authorizationUrl(challenge, { state }));
    await pool.query(`update oauth_records set kept_until = kept_until - interval '15 minutes'`);
    await oldRows(pool, 'oauth_records', { column: 'kept_until', days: 0 }).purge(1_000);
    const { rows } = await pool.query<{ kind: string }>('select distinct kind from oauth_records order by 1');
    expect(rows.map(({ kind }) => kind)).toEqual(['AccessToken', 'AuthorizationCode', 'RefreshToken']);
  });

  it('keeps its secrets out of the database', async () => {
    const page = oauth.browserOf(account);
    const uid = await page.start(client.authorizationUrl(challenge));
    const headers = { 'Idempotency-Key': `decide-once-${uid}` };
    expect((await page.decide(uid, { decision: 'allow' }, headers)).status).toBe(200);
    const { rows } = await oauth.service.pool.query<{ all: string }>(
      `select (select string_agg(r::text, ' ') from oauth_records r)
         || (select string_agg(k.status || coalesce(k.body, ''), ' ') from idempotency_keys k) as all`,
    );
    expect(rows[0]?.all).toContain('200');
    expect(rows[0]?.all).not.toContain(uid);
  });

  it('sets cookies that only this site, and no script, can use', async () => {
    const answer = await fetch(client.authorizationUrl(challenge), { redirect: 'manual' });
    const cookies = answer.headers.getSetCookie();
    expect(cookies.map((line) => line.split('=')[0] ?? '').toSorted()).toEqual([
      '__Host-sc_consent',
      '__Secure-sc_resume',
      '__Secure-sc_resume.sig',
    ]);
    for (const line of cookies) {
      expect(line).toMatch(/; secure; httponly$/);
      expect(line).toContain('samesite=lax');
      expect(line).not.toMatch(/domain/i);
    }
  });
});

describe('registration', () => {
  const long = 'x'.repeat(10_000);
  it.each([
    ['no redirect URI', { redirect_uris: [] }, 'invalid_redirect_uri'],
    ['a script', { redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
    ['a script with a dot', { redirect_uris: ['javascript://a.b/%0aalert(1)'] }, 'invalid_redirect_uri'],
    ['data', { redirect_uris: ['data:text/html,x'] }, 'invalid_redirect_uri'],
    ['http', { redirect_uris: ['http://evil.example/cb'] }, 'invalid_redirect_uri'],
    ['a private scheme without a dot', { redirect_uris: ['myapp:/cb'] }, 'invalid_redirect_uri'],
    ['a fragment', { redirect_uris: ['https://app.example.com/cb#x'] }, 'invalid_redirect_uri'],
    ['U+0000', { redirect_uris: ['https://app.example.com/\0'] }, 'invalid_redirect_uri'],
    ['half a character', { redirect_uris: ['https://app.example.com/\ud800'] }, 'invalid_redirect_uri'],
    ['a space', { redirect_uris: [' https://app.example.com/'] }, 'invalid_redirect_uri'],
    ['a user name', { redirect_uris: ['https://user@app.example.com/cb'] }, 'invalid_redirect_uri'],
    [
      '1,000 URIs',
      { redirect_uris: Array.from({ length: 1_000 }, (_, n) => `https://app.example.com/${n}`) },
      'invalid_redirect_uri',
    ],
    ['a long URI', { redirect_uris: [`https://app.example.com/${long}`] }, 'invalid_redirect_uri'],
    ['no text', { redirect_uris: [{}] }, 'invalid_redirect_uri'],
    ['a long name', { client_name: long }, 'invalid_client_metadata'],
    ['a name that turns text around', { client_name: 'Acme \u202ekcab' }, 'invalid_client_metadata'],
    ['a name with a control character', { client_name: 'Acme\u0000' }, 'invalid_client_metadata'],
    ['an invisible name', { client_name: '\u200b' }, 'invalid_client_metadata'],
    ['an empty name', { client_name: '' }, 'invalid_client_metadata'],
    ['another response type', { response_types: ['token'] }, 'invalid_client_metadata'],
    ['another grant', { grant_types: ['client_credentials'] }, 'invalid_client_metadata'],
  ])('with %s is refused', async (_what, metadata, error) => {
    const answer = await registerClient(baseUrl, metadata);
    expect([answer.status, await answer.json()]).toEqual([
      400,
      { error, error_description: expect.any(String) },
    ]);
  });

  it.each([
    ['no JSON', 'x'],
    ['a list', '[]'],
    ['text', '"x"'],
    ['nothing', ''],
  ])('of %s is refused', async (_what, body) => {
    const answer = await fetch(`${baseUrl}/auth/register`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
    });
    expect(answer.status).toBe(400);
    await answer.text();
  });

  it('larger than 64 KiB is refused', async () => {
    const answer = await registerClient(baseUrl, { client_name: 'x'.repeat(70_000) });
    expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([
      413,
      'invalid_request',
    ]);
  });

  it('keeps nothing that could be fetched, and gives no secret', async () => {
    const answer = await registerClient(baseUrl, {
      token_endpoint_auth_method: 'client_secret_basic',
      logo_uri: 'http://169.254.169.254/',
      jwks_uri: 'http://169.254.169.254/',
      sector_identifier_uri: 'http://169.254.169.254/',
      client_uri: 'http://169.254.169.254/',
      contacts: ['person@example.com'],
    });
    const text = await answer.text();
    expect(answer.status).toBe(201);
    expect(text).not.toContain('169.254');
    expect(text).not.toContain('secret');
    const { rows } = await oauth.service.pool.query<{ all: string }>(
      `select string_agg(c::text, ' ') as all from oauth_clients c`,
    );
    expect(rows[0]?.all).not.toMatch(/169\.254|person@/);
  });
});

it('a failure shows nothing of its cause', async () => {
  const { refresh_token: token } = await client.tokens(browser);
  await oauth.service.pool.query('alter table oauth_records rename to oauth_records_away');
  try {
    const answer = await client.refresh(token);
    expect([answer.status, answer.body.error]).toEqual([500, 'server_error']);
    expect(JSON.stringify(answer.body)).not.toContain('oauth_records');
    expect(answer.headers.get('x-request-id')).toMatch(/^[\w-]+$/);
    expect(answer.headers.get('ratelimit-limit')).not.toBeNull();
  } finally {
    await oauth.service.pool.query('alter table oauth_records_away rename to oauth_records');
  }
});

it('a database that does not answer is 503, never 401', async () => {
  const { refresh_token: token } = await client.tokens(browser);
  const { pool } = oauth.service;
  const query = pool.query.bind(pool);
  const down = async (): Promise<never> => {
    throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  };
  Object.assign(pool, { query: down });
  try {
    const answer = await client.refresh(token);
    expect([answer.status, answer.body.error, answer.headers.get('retry-after')]).toEqual([
      503,
      'temporarily_unavailable',
      '1',
    ]);
  } finally {
    Object.assign(pool, { query });
  }
  expect((await client.refresh(token)).status).toBe(200);
});
