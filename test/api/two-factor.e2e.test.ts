import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { codeOfStep } from '../../command/accounts/second-factor.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { createOrphanSecrets } from '../../command/secrets/orphan-secrets.ts';
import { findSecretsInUse } from '../../app/lookups/secrets-in-use.ts';
import { conflict, invalid, refusalOf, type ApiAnswer } from '../support/api-client.ts';
import { linkIn, mailTo } from '../support/outbox-link.ts';
import { GOOD_PASSWORD, Person, signIn, signUp, type SignedUp } from '../support/person.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { createLog } from '../../app/log.ts';

const totp = '/api/v2/accounts/current/user/totp';
const STEP_MS = 30_000;
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.stop());

/** As an authenticator reads it. */
const seedOf = (secret: string): string => {
  const bits = Array.from(secret, (letter) => LETTERS.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2))).toString(
    'base64url',
  );
};
const stepNow = (): number => Math.floor(Date.now() / STEP_MS);
const reasonOf = ({ status, body: { error } }: ApiAnswer<unknown>): readonly unknown[] => [
  status,
  error?.code,
  error?.details,
];
const refused = (reason: string): readonly unknown[] => [401, 'UNAUTHORIZED', { reason }];
const anyone = (): Person => new Person(service);

interface EnrolledUser extends SignedUp {
  readonly seed: string;
  readonly lookupCodes: readonly string[];
}

const start = (person: Person, password = GOOD_PASSWORD) =>
  person.post<{ secret: string; otpauthUri: string }>(totp, { password });
const confirm = (person: Person, code: string) =>
  person.post<{ lookupCodes: string[] }>(`${totp}/confirm`, { code });

/** The next code that is accepted is that of the next step. */
const enrol = async (): Promise<EnrolledUser> => {
  const user = await signUp(service);
  const seed = seedOf((await start(user.person)).body.data.secret);
  const answer = await confirm(user.person, codeOfStep(seed, stepNow()));
  if (answer.status !== 200) throw new Error(`no second factor: ${answer.text}`);
  return { ...user, seed, lookupCodes: answer.body.data.lookupCodes };
};
const nextCode = ({ seed }: EnrolledUser): string => codeOfStep(seed, stepNow() + 1);
/** The codes of the present steps are accepted again. */
const forgetStep = ({ userId }: EnrolledUser) =>
  service.pool.query('update logins set totp_last_step = null where user_id = $1', [userId]);
const wrongCode = ({ seed }: EnrolledUser): string => {
  const right = [-1, 0, 1, 2].map((n) => codeOfStep(seed, stepNow() + n));
  return ['000000', '111111', '222222', '333333', '444444'].find((code) => !right.includes(code)) ?? '';
};

describe('the second factor', () => {
  it('is turned on with a code of the new seed, and renews the cookie', async () => {
    const { person, email, customerId, userId } = await signUp(service);
    const started = await start(person);
    const { secret, otpauthUri } = started.body.data;
    expect([started.status, secret]).toEqual([201, expect.stringMatching(/^[A-Z2-7]{32}$/)]);
    const uri = new URL(otpauthUri);
    expect([uri.protocol, decodeURIComponent(uri.pathname)]).toEqual([
      'otpauth:',
      expect.stringContaining(`Buyer Exchange:${email}`),
    ]);
    expect(Object.fromEntries(uri.searchParams)).toEqual({
      secret,
      issuer: 'Buyer Exchange',
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    });
    // Nothing is asked for before the code.
    expect((await signIn(anyone(), email)).status).toBe(200);
    const { cookie } = person;
    const answer = await confirm(person, codeOfStep(seedOf(secret), stepNow()));
    expect([answer.status, new Set(answer.body.data.lookupCodes).size]).toEqual([200, 10]);
    expect(person.cookie).not.toBe(cookie);
    expect((await new Person(service, cookie).get('/api/v2/accounts/current/user')).status).toBe(401);
    const me = await person.get('/api/v2/accounts/current/user');
    expect(me.body.data).toMatchObject({ totp: { enabled: true, lookupCodesLeft: 10 } });
    expect((await service.eventsOf(`account-${customerId}`)).at(-1)).toMatchObject({
      type: 'TotpEnabled',
      data: { userId },
    });
  });

  it('is not turned on by a wrong code, a wrong password or a code of an earlier seed', async () => {
    const { person } = await signUp(service);
    expect(refusalOf(await confirm(person, '123456'))).toEqual(conflict());
    expect(refusalOf(await start(person, 'not my password'))).toEqual(invalid('password'));
    const first = seedOf((await start(person)).body.data.secret);
    const second = seedOf((await start(person)).body.data.secret);
    expect(second).not.toBe(first);
    expect(refusalOf(await confirm(person, '12345'))).toEqual(invalid('code'));
    expect(refusalOf(await confirm(person, codeOfStep(first, stepNow())))).toEqual(invalid('code'));
    expect((await confirm(person, codeOfStep(second, stepNow()))).status).toBe(200);
    expect(refusalOf(await start(person))).toEqual(conflict());
    expect(refusalOf(await confirm(person, codeOfStep(second, stepNow())))).toEqual(conflict());
  });

  it('is turned off with password and code, only', async () => {
    const user = await enrol();
    const { person, email } = user;
    const disable = (password: string, code: string) => person.post(`${totp}/disable`, { password, code });
    expect(refusalOf(await disable('not my password', nextCode(user)))).toEqual(invalid('password'));
    expect(reasonOf(await disable(GOOD_PASSWORD, wrongCode(user)))).toEqual(refused('code-invalid'));
    expect(reasonOf(await signIn(anyone(), email))).toEqual(refused('code-required'));
    const { cookie } = person;
    expect((await disable(GOOD_PASSWORD, nextCode(user))).status).toBe(204);
    expect(person.cookie).not.toBe(cookie);
    expect((await signIn(anyone(), email)).status).toBe(200);
    const types = (await service.eventsOf(`account-${user.customerId}`)).map(({ type }) => type);
    expect(types.slice(-2)).toEqual(['TotpEnabled', 'TotpDisabled']);
    const { rows } = await service.pool.query(
      `select from secrets where owner_kind = 'user' and customer_id = $1`,
      [user.customerId],
    );
    expect(rows).toEqual([]);
  });
});

describe('a sign-in with a second factor', () => {
  let user: EnrolledUser;
  beforeEach(async () => {
    user = await enrol();
  });
  const withCode = (code?: string): Promise<ApiAnswer<unknown>> =>
    signIn(anyone(), user.email, GOOD_PASSWORD, code === undefined ? {} : { code });

  it('asks for the code only of those who know the password', async () => {
    expect(reasonOf(await withCode())).toEqual(refused('code-required'));
    const wrong = await signIn(anyone(), user.email, 'not my password', { code: nextCode(user) });
    expect(reasonOf(wrong)).toEqual([401, 'UNAUTHORIZED', undefined]);
    expect((await withCode(nextCode(user))).status).toBe(200);
  });

  it('accepts the code of a step once, also of requests at once', async () => {
    await forgetStep(user);
    const code = codeOfStep(user.seed, stepNow());
    const answers = await Promise.all(Array.from({ length: 4 }, () => withCode(code)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401, 401, 401]);
    expect(reasonOf(await withCode(code))).toEqual(refused('code-invalid'));
    const earlier = codeOfStep(user.seed, stepNow() - 1);
    expect(reasonOf(await withCode(earlier))).toEqual(refused('code-invalid'));
  });

  it('refuses a code that is too old', async () => {
    await forgetStep(user);
    expect(reasonOf(await withCode(codeOfStep(user.seed, stepNow() - 3)))).toEqual(refused('code-invalid'));
    expect((await withCode(codeOfStep(user.seed, stepNow()))).status).toBe(200);
  });

  it('accepts each lookup code once, also of requests at once', async () => {
    const [one = '', other = ''] = user.lookupCodes;
    const answers = await Promise.all(Array.from({ length: 4 }, () => withCode(one.toUpperCase())));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401, 401, 401]);
    const person = anyone();
    expect(
      (await signIn(person, user.email, GOOD_PASSWORD, { code: other.replaceAll('-', ' ') })).status,
    ).toBe(200);
    const me = await person.get('/api/v2/accounts/current/user');
    expect(me.body.data).toMatchObject({ totp: { lookupCodesLeft: 8 } });
    const sessions = await person.get<{ method: string }[]>('/api/v2/accounts/current/sessions');
    expect(sessions.body.data[0]?.method).toBe('password-and-lookup-code');
    const used = (await service.eventsOf(`account-${user.customerId}`)).filter(
      ({ type }) => type === 'LookupCodeUsed',
    );
    expect(used).toHaveLength(2);
  });

  it('is repeated with the same Idempotency-Key and the same code', async () => {
    const body = { email: user.email, password: GOOD_PASSWORD, code: nextCode(user) };
    const headers = { 'Idempotency-Key': randomUUID() };
    const person = anyone();
    expect((await person.post('/auth/sign-in', body, headers)).status).toBe(200);
    expect((await person.post('/auth/sign-in', body, headers)).status).toBe(200);
    expect((await person.get('/api/v2/accounts/current/user')).status).toBe(200);
    expect((await anyone().post('/auth/sign-in', body)).status).toBe(401);
  });

  it('is refused for a while after ten wrong codes, and listed in the audit log', async () => {
    for (let n = 0; n < 10; n += 1) {
      expect(reasonOf(await withCode(wrongCode(user)))).toEqual(refused('code-invalid'));
    }
    expect(reasonOf(await withCode(nextCode(user)))).toEqual(refused('code-blocked'));
    await service.pool.query(
      `update logins set code_failed_at = now() - interval '15 minutes' where user_id = $1`,
      [user.userId],
    );
    expect((await withCode(nextCode(user))).status).toBe(200);
  });

  it('is refused after ten wrong codes of requests at once, too', async () => {
    await anyone().post('/auth/password-reset/request', { email: user.email });
    const { token } = linkIn(await mailTo(service, user.email, 'Choose a new password'));
    const verified = await anyone().post<{ ticket: string }>('/auth/password-reset/verify', { token });
    const body = {
      ticket: verified.body.data.ticket,
      password: 'seven brown badgers',
      code: wrongCode(user),
    };
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => anyone().post('/auth/password-reset/reset', body)),
    );
    const tried = answers.filter((answer) => reasonOf(answer)[2] !== undefined);
    expect(tried).toHaveLength(30);
    const wrong = tried.map(reasonOf).filter(([, , details]) => JSON.stringify(details).includes('invalid'));
    expect(wrong).toHaveLength(10);
  });

  it('is needed to reset the password, too', async () => {
    await anyone().post('/auth/password-reset/request', { email: user.email });
    const { token } = linkIn(await mailTo(service, user.email, 'Choose a new password'));
    const verified = await anyone().post<{ ticket: string }>('/auth/password-reset/verify', { token });
    const { ticket } = verified.body.data;
    const reset = (code?: string) =>
      anyone().post('/auth/password-reset/reset', {
        ticket,
        password: 'seven brown badgers',
        ...(code !== undefined && { code }),
      });
    expect(reasonOf(await reset())).toEqual(refused('code-required'));
    expect(reasonOf(await reset(wrongCode(user)))).toEqual(refused('code-invalid'));
    expect((await reset(user.lookupCodes[0])).status).toBe(200);
    expect(reasonOf(await signIn(anyone(), user.email, 'seven brown badgers'))).toEqual(
      refused('code-required'),
    );
  });
});

it('the seed is encrypted, codes are hashed, and the sweep of secrets keeps the seed while it is used', async () => {
  const user = await enrol();
  const { installation, pool } = service;
  const dump = async (): Promise<string> => {
    const { rows } = await pool.query<{ dump: string }>(
      `select string_agg(t, ' ') as dump from (
         select l::text as t from logins l union all select s::text from secrets s) all_rows`,
    );
    return rows[0]?.dump ?? '';
  };
  const log = JSON.stringify(await service.readLog());
  for (const secret of [user.seed, ...user.lookupCodes]) {
    expect((await dump()).includes(secret)).toBe(false);
    expect(log.includes(secret)).toBe(false);
  }
  const sweep = createOrphanSecrets(
    { ...installation, clock: systemClock, log: createLog('silent') },
    findSecretsInUse(pool),
  );
  const seeds = async (): Promise<number | null> =>
    (
      await pool.query(`select from secrets where owner_kind = 'user' and customer_id = $1`, [
        user.customerId,
      ])
    ).rowCount;
  await pool.query(`update secrets set created_at = now() - interval '2 hours'`);
  await sweep.purge(1_000);
  expect(await seeds()).toBe(1);
  await pool.query('update logins set totp_secret_id = null where user_id = $1', [user.userId]);
  await sweep.purge(1_000);
  expect(await seeds()).toBe(0);
});
