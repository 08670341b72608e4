import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createCredentialUses } from '../../command/accounts/record-key-use.ts';
import { endSession } from '../../command/accounts/session-rows.ts';
import { signInHousekeeping } from '../../command/accounts/settle-sign-in.ts';
import { conflict, invalid, notFound, refusalOf } from '../support/api-client.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { mailTo } from '../support/outbox-link.ts';
import { GOOD_PASSWORD, Person, signIn, signUp, type SignedUp } from '../support/person.ts';
import { until } from '../support/until.ts';

const path = '/api/v2/accounts/current/sessions';

interface Session {
  readonly id: string;
  readonly isCurrent: boolean;
  readonly method: string;
  readonly createdAt: string;
  readonly lastSeenAt: string;
  readonly endsAt: string;
  readonly addressPrefix: string;
  readonly agent?: string;
}

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.stop());

const sessionsOf = async (person: Person): Promise<readonly Session[]> =>
  (await person.get<Session[]>(path)).body.data;
const isSignedIn = async (person: Person): Promise<boolean> => {
  const { status } = await person.get('/api/v2/accounts/current/user');
  if (status !== 200 && status !== 401) throw new Error(`unexpected status ${status}`);
  return status === 200;
};
const alsoSignedIn = async ({ email }: SignedUp): Promise<Person> => {
  const other = new Person(service);
  expect((await signIn(other, email)).status).toBe(200);
  return other;
};
const idOf = async (person: Person): Promise<string> =>
  (await sessionsOf(person)).find(({ isCurrent }) => isCurrent)?.id ?? '';
const reasonsOf = async ({ customerId }: SignedUp): Promise<readonly unknown[]> =>
  (await service.readLog())
    .filter(({ type, metadata }) => type === 'SessionEnded' && metadata.customerId === customerId)
    .map(({ data }) => data['reason']);
const set = (sessionId: string, change: string) =>
  service.pool.query(`update sessions set ${change} where session_id = $1`, [sessionId]);

describe('the list of sessions', () => {
  it("shows the user's own live ones, newest first, in pages", async () => {
    const one = await signUp(service);
    const second = await alsoSignedIn(one);
    await alsoSignedIn(await signUp(service));
    const shown = await sessionsOf(second);
    expect(shown).toMatchObject([
      { isCurrent: true, method: 'password', addressPrefix: '127.0.0.0/24' },
      { isCurrent: false, method: 'sign-up' },
    ]);
    const [current] = shown;
    expect(Date.parse(current?.endsAt ?? '') - Date.parse(current?.createdAt ?? '')).toBe(30 * 86_400_000);
    const page = await one.person.get<Session[]>(`${path}?skip=1&take=1`);
    expect([page.body.data.map(({ isCurrent }) => isCurrent), page.body.meta.pagination]).toEqual([
      [true],
      { skip: 1, take: 1, total: 2, hasMore: false },
    ]);
  });
});

describe('a session', () => {
  it('is ended by its user, on its next request, and only by its user', async () => {
    const one = await signUp(service);
    const [second, stranger] = [await alsoSignedIn(one), await signUp(service)];
    const id = await idOf(second);
    expect(refusalOf(await stranger.person.delete(`${path}/${id}`))).toEqual(notFound());
    expect(refusalOf(await one.person.delete(`${path}/${randomUUID()}`))).toEqual(notFound());
    expect(refusalOf(await one.person.delete(`${path}/nothing`))).toEqual(notFound());
    expect(await isSignedIn(second)).toBe(true);
    expect((await one.person.delete(`${path}/${id}`)).status).toBe(204);
    expect(await isSignedIn(second)).toBe(false);
    expect((await one.person.delete(`${path}/${id}`)).status).toBe(204);
    expect(await reasonsOf(one)).toEqual(['ended']);
    expect(await sessionsOf(one.person)).toHaveLength(1);
  });

  it('survives when its user ends all others', async () => {
    const one = await signUp(service);
    const others = [await alsoSignedIn(one), await alsoSignedIn(one)];
    expect((await one.person.delete(path)).status).toBe(204);
    expect(await Promise.all([one.person, ...others].map(isSignedIn))).toEqual([true, false, false]);
    expect(await reasonsOf(one)).toEqual(['ended', 'ended']);
  });

  it.each([
    ['12 hours without a request', `last_seen_at = now() - interval '12 hours'`],
    ['30 days', `ends_at = now()`],
  ])('is over after %s', async (_, change) => {
    const one = await signUp(service);
    const other = await alsoSignedIn(one);
    await set(await idOf(other), change);
    expect(await isSignedIn(other)).toBe(false);
    expect(await sessionsOf(one.person)).toHaveLength(1);
    expect(await reasonsOf(one)).toEqual([]);
  });

  it.each([
    ['12 hours without a request', `last_seen_at = now() - interval '11 hours 59 minutes'`],
    ['30 days', `ends_at = now() + interval '1 minute'`],
  ])('is not over before %s', async (_, change) => {
    const one = await signUp(service);
    await set(await idOf(one.person), change);
    expect(await isSignedIn(one.person)).toBe(true);
  });

  it('is seen at most once a minute, in one statement', async () => {
    const one = await signUp(service);
    const id = await idOf(one.person);
    let now = Date.now() + 30_000;
    const { sessionUse } = createCredentialUses(service.pool, { now: () => now });
    const seenAt = async (): Promise<string | undefined> => (await sessionsOf(one.person))[0]?.lastSeenAt;
    const first = await seenAt();
    sessionUse.used(id);
    await sessionUse.flush();
    expect(await seenAt()).toBe(first);
    now += 60_000;
    sessionUse.used(id);
    await sessionUse.flush();
    expect(await seenAt()).toBe(new Date(now).toISOString());
  });

  it('is one of at most twenty of its user: the oldest ends', async () => {
    const one = await signUp(service);
    const newest: Person[] = [];
    for (let n = 0; n < 20; n += 1) newest.push(await alsoSignedIn(one));
    expect(await isSignedIn(one.person)).toBe(false);
    expect(await Promise.all(newest.map(isSignedIn))).toEqual(newest.map(() => true));
    expect(await reasonsOf(one)).toEqual(['too-many']);
  });

  it('ends when the same browser signs in again, as any user; a refused sign-in ends nothing', async () => {
    const [one, other] = [await signUp(service), await signUp(service)];
    const { cookie: first = '' } = one.person;
    expect((await signIn(one.person, one.email, 'not the password')).status).toBe(401);
    expect(await isSignedIn(one.person)).toBe(true);
    const headers = { 'Idempotency-Key': randomUUID() };
    const again = () =>
      one.person.post('/auth/sign-in', { email: one.email, password: GOOD_PASSWORD }, headers);
    expect((await again()).status).toBe(200);
    // Repeated, with the cookie of the first answer.
    expect((await again()).status).toBe(200);
    expect([await isSignedIn(one.person), await isSignedIn(new Person(service, first))]).toEqual([
      true,
      false,
    ]);
    expect(await sessionsOf(one.person)).toHaveLength(1);
    expect(await reasonsOf(one)).toEqual(['replaced']);
    const { cookie: second = '' } = one.person;
    expect((await signIn(one.person, other.email)).status).toBe(200);
    expect([await isSignedIn(one.person), await isSignedIn(new Person(service, second))]).toEqual([
      true,
      false,
    ]);
    expect([await reasonsOf(one), await reasonsOf(other)]).toEqual([['replaced', 'replaced'], []]);
    expect(await isSignedIn(other.person)).toBe(true);
  });

  it('that a process ended before it could record the end gets its event from the sweep', async () => {
    const one = await signUp(service);
    const id = await idOf(one.person);
    const { ends, purge } = {
      ends: await endSession(service.pool, one, id, 'ended'),
      purge: signInHousekeeping(service.installation)['ends of sessions'],
    };
    expect(ends).toHaveLength(1);
    await purge.purge(100);
    expect(await reasonsOf(one)).toEqual([]);
    await set(id, `ended_at = ended_at - interval '1 minute'`);
    await purge.purge(100);
    await purge.purge(100);
    expect(await reasonsOf(one)).toEqual(['ended']);
  });

  it('is deleted a week after its end, and its history stays', async () => {
    const one = await signUp(service);
    const other = await alsoSignedIn(one);
    const id = await idOf(other);
    await other.post('/auth/sign-out');
    const count = async (): Promise<unknown> =>
      (await service.pool.query('select from sessions where session_id = $1', [id])).rowCount;
    const { sessions } = signInHousekeeping(service.installation);
    await set(id, `ends_at = now() - interval '6 days'`);
    await sessions.purge(100);
    expect(await count()).toBe(1);
    await set(id, `ends_at = now() - interval '8 days'`);
    await sessions.purge(100);
    expect(await count()).toBe(0);
    const history = await one.person.get<{ events: unknown[] }>(`${path}/${id}/history`);
    expect(history.body.data.events).toMatchObject([
      { type: 'SessionStarted', actorOrigin: 'SESSION', userId: one.userId },
      { type: 'SessionEnded', actorOrigin: 'SESSION', userId: one.userId },
    ]);
  });

  it('acts only for pages of the service', async () => {
    const { person } = await signUp(service);
    const create = (headers: Readonly<Record<string, string>>) =>
      person.post('/api/v2/buyer/advertisers', { name: 'Mine' }, headers);
    expect((await create({ Origin: 'https://evil.example' })).status).toBe(403);
    expect((await create({ Origin: 'null' })).status).toBe(403);
    expect((await create({})).status).toBe(201);
  });

  it('cannot be guessed from a part, or from another form, of its secret', async () => {
    const { person } = await signUp(service);
    const { cookie = '' } = person;
    const wrong = [cookie.slice(0, 42), `${cookie}A`, cookie.toLowerCase(), 'x'.repeat(5_000), '', '%00'];
    const answers = await Promise.all(wrong.map((text) => isSignedIn(new Person(service, text))));
    expect(answers).toEqual(wrong.map(() => false));
    expect(await isSignedIn(person)).toBe(true);
  });
});

describe('a changed password', () => {
  const change = (person: Person, currentPassword: string, newPassword: string) =>
    person.post('/auth/password', { currentPassword, newPassword });

  it('ends the other sessions, renews the own secret, and a mail says so', async () => {
    const one = await signUp(service);
    const { person, email } = one;
    const { cookie } = person;
    const other = await alsoSignedIn(one);
    const answer = await change(person, GOOD_PASSWORD, 'seven brown badgers');
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(person.cookie).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(person.cookie).not.toBe(cookie);
    expect(await Promise.all([person, other, new Person(service, cookie)].map(isSignedIn))).toEqual([
      true,
      false,
      false,
    ]);
    expect((await signIn(new Person(service), email)).status).toBe(401);
    expect((await signIn(new Person(service), email, 'seven brown badgers')).status).toBe(200);
    expect(await reasonsOf(one)).toEqual(['password-changed']);
    expect(await mailTo(service, email, 'Your password was changed')).toContain('/console/password-reset');
  });

  it('leaves no session of a sign-in with the old one that began before', async () => {
    const { person, email, userId } = await signUp(service);
    await service.pool.query(`
      create function slow_session() returns trigger language plpgsql as
        $$ begin perform pg_sleep(1) where new.user_id = '${userId}'; return new; end $$;
      create trigger slow_session before insert on sessions for each row execute function slow_session()`);
    try {
      const late = new Person(service);
      const signingIn = signIn(late, email);
      await until(async () => {
        const { rows } = await service.pool.query(
          `select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`,
        );
        return rows.length === 1;
      });
      expect((await change(person, GOOD_PASSWORD, 'seven brown badgers')).status).toBe(204);
      expect((await signingIn).status).toBe(200);
      expect(await isSignedIn(late)).toBe(false);
    } finally {
      await service.pool.query('drop trigger slow_session on sessions');
    }
  });

  it.each([
    ['currentPassword', 'not the password', 'seven brown badgers'],
    ['currentPassword', '', 'seven brown badgers'],
    ['newPassword', GOOD_PASSWORD, 'short'],
    ['newPassword', GOOD_PASSWORD, 'password1234'],
    ['newPassword', GOOD_PASSWORD, 'acme tools 2026'],
  ])('is refused for the field %s: %s, %s', async (field, currentPassword, newPassword) => {
    const { person, email } = await signUp(service);
    const { cookie } = person;
    expect(refusalOf(await change(person, currentPassword, newPassword))).toEqual(invalid(field));
    expect(person.cookie).toBe(cookie);
    expect((await signIn(new Person(service), email)).status).toBe(200);
  });

  it('is that of one of two requests at once', async () => {
    const { person, email } = await signUp(service);
    const { cookie } = person;
    const words = ['badgers', 'weasels'];
    const answers = await Promise.all(
      words.map((word) => change(new Person(service, cookie), GOOD_PASSWORD, `seven brown ${word}`)),
    );
    const done = words.filter((_, n) => answers[n]?.status === 204);
    expect(done).toHaveLength(1);
    const [refused] = answers.filter(({ status }) => status !== 204);
    expect([conflict(), invalid('currentPassword'), [401, 'UNAUTHORIZED', undefined]]).toContainEqual(
      refused && refusalOf(refused),
    );
    expect((await signIn(new Person(service), email, `seven brown ${done[0]}`)).status).toBe(200);
  });
});
