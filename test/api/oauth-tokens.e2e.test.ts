import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { revokeGrantsOfUser } from '../../command/accounts/oauth/grants.ts';
import { oauthGrantRowsIn } from '../../projections/oauth-grant-rows.ts';
import { systemClock } from '../../shared/async/clock.ts';
import type { OAuthBrowser } from '../support/oauth-browser.ts';
import { freePort } from '../support/free-port.ts';
import {
  pkce,
  startOAuthService,
  TestClient,
  useToken,
  type OAuthService,
} from '../support/oauth-service.ts';
import { startProgram, type Program } from '../support/program.ts';
import { until } from '../support/until.ts';
import type { TestAccount } from '../support/running-service.ts';

/** Codes and refresh tokens that are used twice, at once or late, on one process and on two. */

let oauth: OAuthService;
let account: TestAccount;
let client: TestClient;
let browser: OAuthBrowser;
let other: Program;
let otherUrl: string;
beforeAll(async () => {
  const [port, otherPort] = [await freePort(), await freePort()];
  const shared = { BASE_URL: `http://127.0.0.1:${port}`, SECRET_KEYS: `test:${'A'.repeat(43)}` };
  oauth = await startOAuthService({ ...shared, PORT: String(port) });
  otherUrl = `http://127.0.0.1:${otherPort}`;
  other = startProgram({
    ...shared,
    ...oauth.service.stores,
    DATA_DIR: oauth.service.dataDir,
    PORT: String(otherPort),
    ROLES: 'api',
    LIMIT_TOKEN: '1000000',
    LOG_FORMAT: 'json',
  });
  await other.until(/listening/);
  account = await oauth.service.openAccount();
  client = await TestClient.register(oauth.service.baseUrl);
  browser = oauth.browserOf(account);
}, 60_000);
afterAll(async () => {
  await other.end('SIGTERM');
  await oauth.service.stop();
});

const statusOf = async (token: string): Promise<number> =>
  (await useToken(oauth.service.baseUrl, token)).status;
const revocations = async (): Promise<readonly unknown[]> =>
  (await oauth.service.eventsOfAccount(account))
    .filter(({ type }) => type === 'OAuthGrantRevoked')
    .map(({ data }) => data);
/** As if the first use of all refresh tokens were longer ago. */
const later = (seconds: number) =>
  oauth.service.pool.query(
    `update oauth_records set consumed_at = consumed_at - make_interval(secs => $1) where kind = 'RefreshToken'`,
    [seconds],
  );

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();
const daysLeft = async (token: string): Promise<number> => {
  const { rows } = await oauth.service.pool.query<{ days: number }>(
    `select round(extract(epoch from expires_at - now()) / 86400)::int as days from oauth_records where id_hash = $1`,
    [hashOf(token)],
  );
  return rows[0]?.days ?? 0;
};

describe('a code', () => {
  it('redeemed fifty times at once on two processes gives one answer, whose tokens are revoked', async () => {
    const authorized = await client.authorize(browser);
    const before = (await revocations()).length;
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        client.redeem(authorized, {}, n % 2 === 0 ? oauth.service.baseUrl : otherUrl),
      ),
    );
    const winners = answers.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    expect(new Set(answers.filter((one) => !winners.includes(one)).map(({ body }) => body.error))).toEqual(
      new Set(['invalid_grant']),
    );
    expect(await statusOf(winners[0]?.body.access_token ?? '')).toBe(401);
    expect((await client.refresh(winners[0]?.body.refresh_token ?? '')).body.error).toBe('invalid_grant');
    expect((await revocations()).slice(before)).toEqual([{ by: 'reuse' }]);
  });

  it('redeemed again later fails, and revokes the tokens of the first time', async () => {
    const authorized = await client.authorize(browser);
    const first = await client.redeem(authorized);
    expect([first.status, await statusOf(first.body.access_token)]).toEqual([200, 200]);
    expect((await client.redeem(authorized)).body.error).toBe('invalid_grant');
    expect(await statusOf(first.body.access_token)).toBe(401);
  });

  it('is good for a minute', async () => {
    const authorized = await client.authorize(browser);
    await oauth.service.pool.query(
      `update oauth_records set payload = payload || jsonb_build_object('exp', extract(epoch from now())::int - 6)
       where kind = 'AuthorizationCode'`,
    );
    expect((await client.redeem(authorized)).body.error).toBe('invalid_grant');
    const { rows } = await oauth.service.pool.query<{ seconds: number }>(
      `select extract(epoch from expires_at - now())::int as seconds from oauth_records
       where kind = 'AuthorizationCode' order by expires_at desc limit 1`,
    );
    expect(rows[0]?.seconds).toBeLessThanOrEqual(60);
  });
});

describe('a refresh token', () => {
  it('used twice at once gives two answers that both work', async () => {
    const { refresh_token: token } = await client.tokens(browser);
    const answers = await Promise.all([client.refresh(token), client.refresh(token)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    for (const { body } of answers) {
      expect(await statusOf(body.access_token)).toBe(200);
      expect((await client.refresh(body.refresh_token)).status).toBe(200);
    }
  });

  it('used ten times at once has at most five successors, and the grant goes on', async () => {
    const { refresh_token: token } = await client.tokens(browser);
    const answers = await Promise.all(Array.from({ length: 10 }, () => client.refresh(token)));
    const good = answers.filter(({ status }) => status === 200);
    expect(good).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(5);
    for (const { body } of good) expect(await statusOf(body.access_token)).toBe(200);
  });

  it('is good for 30 s more after its first use', async () => {
    const { refresh_token: token } = await client.tokens(browser);
    expect((await client.refresh(token)).status).toBe(200);
    await later(29);
    expect((await client.refresh(token)).status).toBe(200);
  });

  it('used after these 30 s ends the grant with all tokens', async () => {
    const first = await client.tokens(browser);
    const second = await client.refresh(first.refresh_token);
    await later(31);
    const before = (await revocations()).length;
    expect((await client.refresh(first.refresh_token)).body.error).toBe('invalid_grant');
    expect((await revocations()).slice(before)).toEqual([{ by: 'reuse' }]);
    for (const token of [first.access_token, second.body.access_token])
      expect(await statusOf(token)).toBe(401);
    expect((await client.refresh(second.body.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('is good for 30 days, but not longer than the consent, which is good for 90', async () => {
    const { refresh_token: token } = await client.tokens(browser);
    expect(await daysLeft(token)).toBe(30);
    await oauth.service.pool.query(
      `update oauth_records set payload = payload || jsonb_build_object('iiat', (payload->>'iiat')::int - 85 * 86400)
       where id_hash = $1`,
      [hashOf(token)],
    );
    const next = await client.refresh(token);
    expect([next.status, await daysLeft(next.body.refresh_token)]).toEqual([200, 5]);
  });

  it('is not used up by a resource that is not ours', async () => {
    const { refresh_token: token } = await client.tokens(browser);
    const refused = await client.refresh(token, { resource: 'https://other.example/mcp' });
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_target']);
    await later(31);
    expect((await client.refresh(token)).status).toBe(200);
  });

  it('of a client without the refresh grant is not issued', async () => {
    const simple = await TestClient.register(oauth.service.baseUrl, { grant_types: ['authorization_code'] });
    const tokens = await simple.tokens(browser);
    expect(tokens.refresh_token).toBeUndefined();
  });

  it('may ask for fewer scopes, never for more', async () => {
    const { refresh_token: token } = await client.tokens(browser, { scope: 'exchange:read exchange:write' });
    const fewer = await client.refresh(token, { scope: 'exchange:read' });
    expect([fewer.status, fewer.body.scope]).toEqual([200, 'exchange:read']);
    expect((await client.refresh(fewer.body.refresh_token, { scope: 'exchange:admin' })).body.error).toBe(
      'invalid_scope',
    );
  });
});

describe('a crash', () => {
  const crashing = (name: string) => {
    const { pool } = oauth.service;
    const query = pool.query.bind(pool);
    Object.assign(pool, {
      query: (...asked: readonly [{ readonly name?: string }]) => {
        if (asked[0].name === name) throw new Error('the process ends here');
        return query(...(asked as unknown as Parameters<typeof query>));
      },
    });
    return () => Object.assign(pool, { query });
  };

  it('between the event of a revocation and its row: the read model revokes the grant', async () => {
    const { access_token: token } = await client.tokens(browser);
    const repair = crashing('oauth-grants-revoked');
    expect(await client.revoke(token)).toBe(500);
    repair();
    await until(async () => (await statusOf(token)) === 401);
  });

  it('between the event of a consent and its row: the consent can be given again', async () => {
    const { verifier, challenge } = pkce();
    const uid = await browser.start(client.authorizationUrl(challenge));
    const repair = crashing('oauth-grants-authorized');
    expect((await browser.decide(uid, { decision: 'allow' })).status).toBe(500);
    repair();
    const decided = (await (await browser.decide(uid, { decision: 'allow' })).json()) as {
      data: { redirectTo: string };
    };
    const to = new URL((await browser.fetch(decided.data.redirectTo)).headers.get('location') ?? '');
    const { status } = await client.redeem({ code: to.searchParams.get('code') ?? '', verifier });
    expect(status).toBe(200);
  });
});

describe('revocation', () => {
  it('holds on the next request on every process', async () => {
    const { access_token: token } = await client.tokens(browser);
    const statuses = async () =>
      Promise.all([oauth.service.baseUrl, otherUrl].map(async (url) => (await useToken(url, token)).status));
    expect(await statuses()).toEqual([200, 200]);
    expect(await client.revoke(token)).toBe(200);
    expect(await statuses()).toEqual([401, 401]);
  });

  it.each(['access_token', 'refresh_token'] as const)('of the %s takes the whole grant', async (kind) => {
    const tokens = await client.tokens(browser);
    const next = (await client.refresh(tokens.refresh_token)).body;
    const before = (await revocations()).length;
    expect(await client.revoke(next[kind])).toBe(200);
    for (const one of [tokens, next]) {
      expect(await statusOf(one.access_token)).toBe(401);
      expect((await client.refresh(one.refresh_token)).body.error).toBe('invalid_grant');
    }
    expect((await revocations()).slice(before)).toEqual([{ by: 'client' }]);
  });

  it('of an unknown token, or twice, is 200', async () => {
    const { access_token: token } = await client.tokens(browser);
    expect([
      await client.revoke('at_unknown'),
      await client.revoke(token),
      await client.revoke(token),
    ]).toEqual([200, 200, 200]);
  });

  it('of all grants of a user ends them with the removal', async () => {
    const member = await oauth.addUser(account, 'member');
    const tokens = [await client.tokens(oauth.browserOf(account, member)), await client.tokens(browser)];
    const { store, pool } = oauth.service.installation;
    const writes = { store, pool, clock: systemClock, rows: oauthGrantRowsIn(pool) };
    const commandId = randomUUID();
    const context = { commandId, customerId: account.customerId, actor: 'operator', requestId: commandId };
    const before = (await revocations()).length;
    for (let repeats = 0; repeats < 2; repeats += 1) {
      await revokeGrantsOfUser(writes, member, 'removal', context);
    }
    expect(await Promise.all(tokens.map((one) => statusOf(one.access_token)))).toEqual([401, 200]);
    expect((await revocations()).slice(before)).toEqual([{ by: 'removal' }]);
  });

  it("of another client's token is 200 without effect", async () => {
    const { access_token: token } = await client.tokens(browser);
    const stranger = await TestClient.register(oauth.service.baseUrl);
    expect([await stranger.revoke(token), await statusOf(token)]).toEqual([200, 200]);
  });
});
