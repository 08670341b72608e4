import { randomUUID } from 'node:crypto';
import { hash } from '@node-rs/argon2';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setAccess } from '../../cli/operate-accounts.ts';
import { claimAddress } from '../../command/accounts/login-rows.ts';
import { signInHousekeeping } from '../../command/accounts/settle-sign-in.ts';
import { emailKeyOf } from '../../domain/accounts/address.ts';
import { conflict, invalid, refusalOf, untilDefinite } from '../support/api-client.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { medianDifference } from '../support/median-difference.ts';
import { mailTo } from '../support/outbox-link.ts';
import { GOOD_PASSWORD, Person, signIn, signUp } from '../support/person.ts';
import { until } from '../support/until.ts';

/** Of `passwords.ts`. */
const WAIT_MS_MAX = 700;

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.stop());

const newAddress = (): string => `p-${randomUUID()}@example.test`;
const person = (cookie?: string): Person => new Person(service, cookie);
const accountsOf = async (email: string): Promise<number> => {
  const opened = (await service.readLog()).filter(({ type }) => type === 'AccountOpened');
  const { rows } = await service.pool.query<{ customer_id: string }>(
    'select customer_id from user_addresses where email_key = $1',
    [emailKeyOf(email)],
  );
  const ids = rows.map(({ customer_id }) => Number(customer_id));
  return opened.filter(({ metadata }) => ids.includes(metadata.customerId)).length;
};

describe('a person', () => {
  it('signs up, calls the API with the cookie, signs out and in again', async () => {
    const { person: browser, email, userId, customerId } = await signUp(service);
    const me = await browser.get('/api/v2/accounts/current/user');
    expect([me.status, me.body.data]).toEqual([
      200,
      {
        id: userId,
        name: 'Administrator',
        email,
        emailVerified: false,
        role: 'admin',
        totp: { enabled: false, lookupCodesLeft: 0 },
      },
    ]);
    expect((await browser.get('/api/v2/buyer/advertisers')).status).toBe(200);
    expect((await browser.post('/api/v2/buyer/advertisers', { name: 'Mine' })).status).toBe(201);
    const { cookie } = browser;
    const out = await browser.post('/auth/sign-out');
    expect([out.status, out.headers.get('set-cookie')]).toEqual([
      204,
      '__Host-sc_session=; Max-Age=0; Secure; HttpOnly; Path=/; SameSite=Lax',
    ]);
    expect((await person(cookie).get('/api/v2/accounts/current/user')).status).toBe(401);
    const again = await signIn(browser, email.toUpperCase());
    expect([again.status, again.body.data]).toEqual([200, { userId, customerId }]);
    expect(again.headers.get('set-cookie')).toMatch(
      /^__Host-sc_session=[A-Za-z0-9_-]{43}; Max-Age=2592000; Secure; HttpOnly; Path=\/; SameSite=Lax$/,
    );
    expect(browser.cookie).not.toBe(cookie);
    const types = (await service.readLog())
      .filter(({ metadata }) => metadata.customerId === customerId)
      .map(({ type, data, metadata: { actor } }) => [type, data, actor.replace(/:.*/, '')]);
    expect(types).toMatchObject([
      ['AccountOpened', { name: 'Acme Tools', customerDomain: 'example.test' }, 'user'],
      ['PasswordSet', { userId, by: 'sign-up' }, 'user'],
      ['SessionStarted', { userId, method: 'sign-up' }, 'session'],
      ['AdvertiserCreated', {}, 'session'],
      ['SessionEnded', { reason: 'signed-out' }, 'session'],
      ['SessionStarted', { userId, method: 'password' }, 'session'],
    ]);
  });

  it('is named in the audit log: for changes with the session, and for refused sign-ins', async () => {
    const { person: browser, email, userId } = await signUp(service);
    await browser.post('/api/v2/buyer/advertisers', { name: 'Mine' });
    expect((await signIn(person(), email, 'not my password')).status).toBe(401);
    interface Entry {
      readonly action: string;
      readonly actorOrigin: string;
      readonly userId?: string;
      readonly outcome: string;
    }
    let entries: readonly Entry[] = [];
    await until(async () => {
      const { body } = await browser.get<{ logs: Entry[] }>('/api/v2/buyer/audit-logs?take=50');
      entries = body.data.logs;
      return entries.some(({ action }) => action === 'signIn');
    });
    const shown = entries.map(({ action, actorOrigin, userId: by, outcome }) => [
      action,
      actorOrigin,
      by,
      outcome,
    ]);
    expect(shown).toEqual(
      expect.arrayContaining([
        ['AccountOpened', 'USER', userId, 'success'],
        ['PasswordSet', 'USER', userId, 'success'],
        ['SessionStarted', 'SESSION', userId, 'success'],
        ['AdvertiserCreated', 'SESSION', userId, 'success'],
        ['signIn', 'USER', userId, 'denied'],
      ]),
    );
  });

  it('leaves no address, password, hash or cookie in the log', async () => {
    const { person: browser, email } = await signUp(service);
    await signIn(browser, email);
    const log = JSON.stringify(await service.readLog());
    expect(log).toContain('SessionStarted');
    for (const secret of [email, GOOD_PASSWORD, 'argon2', browser.cookie ?? '-']) {
      expect(log).not.toContain(secret);
    }
  });
});

describe('wrong input', () => {
  const body = { email: 'a@b.test', password: GOOD_PASSWORD, company: 'Acme', token: 'x', code: '123456' };
  it.each([
    ['/auth/signup', 'email', undefined],
    ['/auth/signup', 'email', 'no address'],
    ['/auth/signup', 'email', `${'x'.repeat(250)}@b.test`],
    ['/auth/signup', 'password', 'eleven char'],
    ['/auth/signup', 'password', 'x'.repeat(129)],
    ['/auth/signup', 'password', 123_456_789_012],
    ['/auth/signup', 'password', 'my acme password'],
    ['/auth/signup', 'password', 'password1234'],
    ['/auth/signup', 'company', ''],
    ['/auth/signup', 'company', 'x'.repeat(121)],
    ['/auth/verify-email', 'token', undefined],
    ['/auth/verify-email', 'token', 'unknown'],
    ['/auth/verify-email', 'password', ''],
    ['/auth/sign-in', 'email', 'a@b@c'],
    ['/auth/sign-in', 'password', undefined],
    ['/auth/sign-in', 'password', ''],
    ['/auth/sign-in', 'code', ''],
    ['/auth/sign-in', 'code', 123_456],
    ['/auth/set-up', 'token', 'unknown'],
    ['/auth/set-up', 'email', 'x'],
    ['/auth/set-up', 'password', 'short'],
    ['/auth/password-reset/request', 'email', ''],
    ['/auth/password-reset/verify', 'token', 'unknown'],
    ['/auth/password-reset/reset', 'ticket', 'unknown'],
    ['/auth/password-reset/reset', 'password', 'short'],
  ])('%s names the field %s of %j', async (path, field, value) => {
    const sent = { ...body, ticket: 'x', [field]: value };
    expect(refusalOf(await person().post(path, sent))).toEqual(invalid(field));
  });
  it('is refused from pages of other origins, without an effect', async () => {
    const email = newAddress();
    const origins = ['https://evil.example', 'null', `${service.baseUrl}.evil.example`];
    for (const Origin of origins) {
      const answer = await person().post(
        '/auth/signup',
        { email, password: GOOD_PASSWORD, company: 'Acme' },
        { Origin },
      );
      expect([answer.status, answer.headers.get('set-cookie')]).toEqual([403, null]);
    }
    expect(await accountsOf(email)).toBe(0);
  });
  it('needs a session for what only a signed-in person may do', async () => {
    const { api, apiKey } = await service.openAccount();
    expect((await api.get('/advertisers')).status).toBe(200);
    for (const path of ['/auth/sign-out', '/auth/password', '/api/v2/accounts/current/user/totp']) {
      expect((await person().post(path, {})).status).toBe(401);
      expect((await person().post(path, {}, { Authorization: `Bearer ${apiKey}` })).status).toBe(403);
    }
  });
});

describe('an address', () => {
  it('belongs to one user: a further sign-up says nothing, and its owner gets a mail', async () => {
    const { email } = await signUp(service);
    const body = { email: email.toUpperCase(), password: 'another password', company: 'Second Try' };
    const second = person();
    const answer = await second.post('/auth/signup', body);
    expect([answer.status, answer.body.data, second.cookie]).toEqual([
      202,
      { status: 'check-mail' },
      undefined,
    ]);
    expect(await mailTo(service, email, 'You have an account already')).toContain(
      `${service.baseUrl}/console/sign-in`,
    );
    expect((await signIn(person(), email)).status).toBe(200);
    expect((await signIn(person(), email, 'another password')).status).toBe(401);
  });

  it('gets one account from many sign-ups at once', async () => {
    const email = newAddress();
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        untilDefinite(() =>
          person().post('/auth/signup', {
            email: n % 2 === 0 ? email : email.toUpperCase(),
            password: `${GOOD_PASSWORD} ${n}`,
            company: `Company ${n}`,
          }),
        ),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      201, 202, 202, 202, 202, 202,
    ]);
    expect(await accountsOf(email)).toBe(1);
  });

  it('from a public provider does not name the domain of a customer', async () => {
    const email = `${randomUUID()}@gmail.com`;
    const { customerId } = await signUp(service, email);
    const [opened] = await service.eventsOf(`account-${customerId}`);
    expect(opened?.data).toEqual({ customerId, name: 'Acme Tools' });
  });

  it('that a crash left without its account is free again, or gets its account', async () => {
    const sweeps = signInHousekeeping(service.installation);
    const claim = (customerId: number, email: string): Promise<boolean> =>
      claimAddress(service.pool, {
        customerId,
        userId: `${customerId}-1`,
        email,
        emailKey: emailKeyOf(email),
        passwordHash: 'none',
        isVerified: false,
      });
    const lost = newAddress();
    expect(await claim(900_001, lost)).toBe(true);
    expect(await claim(900_001, lost)).toBe(true);
    expect(await claim(900_002, lost)).toBe(false);
    const age = (email: string, minutes: number) =>
      service.pool.query(
        `update user_addresses set announced = false, created_at = now() - $2 * interval '1 minute' where email = $1`,
        [email, minutes],
      );
    await age(lost, 5);
    await sweeps['unused addresses'].purge(100);
    expect(await claim(900_002, lost)).toBe(false);
    await age(lost, 11);
    await sweeps['unused addresses'].purge(100);
    expect(await claim(900_002, lost)).toBe(true);

    const { email } = await signUp(service);
    await age(email, 2);
    expect((await signIn(person(), email)).status).toBe(401);
    await sweeps['unused addresses'].purge(100);
    expect((await signIn(person(), email)).status).toBe(200);
  });
});

describe('a repeated request', () => {
  const key = (): Readonly<Record<string, string>> => ({ 'Idempotency-Key': randomUUID() });

  it('opens one account and starts one session', async () => {
    const headers = key();
    const body = { email: newAddress(), password: GOOD_PASSWORD, company: 'Acme' };
    const [first, second] = [person(), person()];
    const answers = [
      await first.post<{ customerId: number }>('/auth/signup', body, headers),
      await second.post<{ customerId: number }>('/auth/signup', body, headers),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(answers[1]?.body.data).toEqual(answers[0]?.body.data);
    expect(answers[1]?.headers.get('idempotent-replayed')).toBe('true');
    expect(await accountsOf(body.email)).toBe(1);
    const sessions = await second.get<unknown[]>('/api/v2/accounts/current/sessions');
    expect(sessions.body.data).toHaveLength(1);
    // The secret is stored as a hash only, so the repeat has a new one.
    expect((await first.get('/api/v2/accounts/current/user')).status).toBe(401);
  });

  it('signs in once, and not a stranger', async () => {
    const { email } = await signUp(service);
    const headers = key();
    const body = { email, password: GOOD_PASSWORD };
    const [first, second, stranger] = [person(), person(), person()];
    expect((await first.post('/auth/sign-in', body, headers)).status).toBe(200);
    expect((await second.post('/auth/sign-in', body, headers)).status).toBe(200);
    const sessions = await second.get<unknown[]>('/api/v2/accounts/current/sessions');
    expect(sessions.body.data).toHaveLength(2);
    const other = await stranger.post('/auth/sign-in', { ...body, password: 'a guess' }, headers);
    expect([refusalOf(other), stranger.cookie]).toEqual([
      [409, 'IDEMPOTENCY_CONFLICT', 'Idempotency-Key'],
      undefined,
    ]);
    await second.post('/auth/sign-out');
    expect(refusalOf(await first.post('/auth/sign-in', body, headers))).toEqual(conflict());
  });

  it('can send a refused sign-in again with the same key', async () => {
    const { email } = await signUp(service);
    const headers = key();
    const wrong = await person().post('/auth/sign-in', { email, password: 'a guess' }, headers);
    expect(wrong.status).toBe(401);
    expect((await person().post('/auth/sign-in', { email, password: GOOD_PASSWORD }, headers)).status).toBe(
      200,
    );
  });
});

describe('a sign-in', () => {
  it('answers alike for known and unknown addresses: status, body, length and time', async () => {
    const { email } = await signUp(service);
    const known = () => signIn(person(), email, 'not my password');
    const unknown = () => signIn(person(), 'stranger@example.test', 'not my password');
    const [one, other] = [await known(), await unknown()];
    const shown = ({ status, body, headers }: typeof one) => [
      status,
      body.error,
      headers.get('content-length'),
      headers.get('set-cookie'),
    ];
    expect(one.status).toBe(401);
    expect(shown(one)).toEqual(shown(other));
    expect(await medianDifference(known, unknown, 5)).toBeLessThan(5);
  });

  it('of a disabled account is refused like a wrong password', async () => {
    const { person: browser, email, customerId } = await signUp(service);
    await setAccess(service.installation, customerId, 'disabled');
    expect((await browser.get('/api/v2/accounts/current/user')).status).toBe(401);
    const refused = await signIn(person(), email);
    expect([refused.status, refused.body.error?.message]).toEqual([
      401,
      'The address or the password is wrong.',
    ]);
    await setAccess(service.installation, customerId, 'enabled');
    // Its sessions have ended, and stay so.
    expect((await browser.get('/api/v2/accounts/current/user')).status).toBe(401);
    expect((await signIn(person(), email)).status).toBe(200);
    await signInHousekeeping(service.installation)['ends of sessions'].purge(100);
  });

  it('replaces a hash with weaker parameters', async () => {
    const { email, userId } = await signUp(service);
    const stored = async (): Promise<string | undefined> =>
      (
        await service.pool.query<{ hash: string }>(
          'select password_hash as hash from logins where user_id = $1',
          [userId],
        )
      ).rows[0]?.hash;
    const weak = await hash(GOOD_PASSWORD, { memoryCost: 19_456, timeCost: 1, parallelism: 1 });
    await service.pool.query('update logins set password_hash = $2 where user_id = $1', [userId, weak]);
    expect((await signIn(person(), email)).status).toBe(200);
    expect(await stored()).toMatch(/m=47104,t=1,p=1/);
    expect((await signIn(person(), email)).status).toBe(200);
  });

  it('takes no longer when a hundred people sign in at once: most are refused at once', async () => {
    const { email } = await signUp(service);
    const timedSignIn = async () => {
      const startedAt = performance.now();
      const { status, headers } = await signIn(person(), email);
      return { status, retryAfter: headers.get('retry-after'), ms: performance.now() - startedAt };
    };
    const alone = await timedSignIn();
    const answers = await Promise.all(Array.from({ length: 100 }, timedSignIn));
    const refused = answers.filter(({ status }) => status === 503);
    expect(answers.filter(({ status }) => status === 200).length + refused.length).toBe(100);
    expect(refused.length).toBeGreaterThan(50);
    expect(refused.every(({ retryAfter }) => retryAfter === '1')).toBe(true);
    // A busy machine delays every request. The others wait at most the bound, and for one hash on cores that they share.
    // If none were refused, the last would wait for dozens of hashes.
    const longestMs = (wanted: number): number =>
      Math.max(...answers.filter(({ status }) => status === wanted).map(({ ms }) => ms));
    expect(longestMs(200)).toBeLessThan(longestMs(503) + WAIT_MS_MAX + 6 * alone.ms);
  });
});
