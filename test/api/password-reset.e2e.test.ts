import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createUser, setAccess } from '../../cli/operate-accounts.ts';
import { insertLink, newLinkToken } from '../../command/accounts/one-time-links.ts';
import { signInHousekeeping } from '../../command/accounts/settle-sign-in.ts';
import { conflict, invalid, refusalOf } from '../support/api-client.ts';
import { accept, addMember, invitationToken, invite } from '../support/invited.ts';
import { medianDifference } from '../support/median-difference.ts';
import { OAuthBrowser } from '../support/oauth-browser.ts';
import { TestClient, useToken } from '../support/oauth-service.ts';
import { linkIn, mailTo } from '../support/outbox-link.ts';
import { GOOD_PASSWORD, Person, signIn, signUp, type SignedUp } from '../support/person.ts';
import { readOutbox } from '../support/read-mail.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { until } from '../support/until.ts';

const NEXT_PASSWORD = 'seven brown badgers';
const reset = '/auth/password-reset';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.stop());

const anyone = (): Person => new Person(service);
const request = (email: string) => anyone().post(`${reset}/request`, { email });
const verify = (token: string, headers = {}) =>
  anyone().post<{ ticket: string; expiresAt: string }>(`${reset}/verify`, { token }, headers);
const setWith = (ticket: string, password = NEXT_PASSWORD, headers = {}) =>
  anyone().post(`${reset}/reset`, { ticket, password }, headers);
const isSignedIn = async (person: Person): Promise<boolean> =>
  (await person.get('/api/v2/accounts/current/user')).status === 200;
const expire = (token: string) =>
  service.pool.query('update one_time_links set expires_at = now() where token_hash = $1', [
    createHash('sha256').update(token).digest(),
  ]);

describe('a reset of the password', () => {
  let user: SignedUp;
  let token: string;
  beforeEach(async () => {
    user = await signUp(service);
    await request(user.email.toUpperCase());
    const { url, page, token: sent } = linkIn(await mailTo(service, user.email, 'Choose a new password'));
    expect([page, url.startsWith(`${service.baseUrl}/console/`)]).toEqual(['password-reset', true]);
    token = sent;
  });
  const ticketOf = async (): Promise<string> => (await verify(token)).body.data.ticket;

  it('goes from the mail over a ticket to a new password, ends all sessions, and does not sign in', async () => {
    const verified = await verify(token);
    const { ticket, expiresAt } = verified.body.data;
    expect(ticket).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const validMs = Date.parse(expiresAt) - Date.now();
    expect(validMs).toBeGreaterThan(9 * 60_000);
    expect(validMs).toBeLessThanOrEqual(10 * 60_000 + 1_000);
    const done = await setWith(ticket);
    expect([done.status, done.body.data, done.headers.get('set-cookie')]).toEqual([
      200,
      { status: 'done' },
      null,
    ]);
    expect(await isSignedIn(user.person)).toBe(false);
    expect((await signIn(anyone(), user.email)).status).toBe(401);
    const person = anyone();
    expect((await signIn(person, user.email, NEXT_PASSWORD)).status).toBe(200);
    const me = await person.get<{ emailVerified: boolean }>('/api/v2/accounts/current/user');
    expect(me.body.data.emailVerified).toBe(true);
    await mailTo(service, user.email, 'Your password was changed');
    const types = (await service.eventsOf(`account-${user.customerId}`)).map(({ type, data }) => [
      type,
      data['by'],
    ]);
    expect(types.slice(2)).toEqual([
      ['PasswordSet', 'reset'],
      ['EmailVerified', undefined],
    ]);
  });

  it('that proves the address first ends API keys, apps and invitations; a later one ends sessions only', async () => {
    const { person, email, userId, customerId } = user;
    const keyOf = async (who: Person) => {
      const answer = await who.post<{ key: string }>('/api/v2/buyer/api-keys', { name: 'Key' });
      return answer.body.data.key;
    };
    const client = await TestClient.register(service.baseUrl);
    const tokenOf = async (who: Person) => {
      const browser = new OAuthBrowser(service, Promise.resolve(who.cookie ?? ''));
      return (await client.tokens(browser)).access_token;
    };
    const before = [await keyOf(person), await tokenOf(person)];
    const invited = await invitationToken(service, (await invite(user, 'invited@example.test')).id);
    const colleague = await addMember(service, user, 'colleague@example.test', 'admin');
    const colleagues = [await keyOf(colleague.person), await tokenOf(colleague.person)];
    const open = await invitationToken(service, (await invite(colleague, 'other@example.test')).id);
    const statuses = (all: readonly string[]) =>
      Promise.all(all.map(async (one) => (await useToken(service.baseUrl, one)).status));
    expect(await statuses(before)).toEqual([200, 200]);

    expect((await setWith(await ticketOf())).status).toBe(200);
    expect(await statuses(before)).toEqual([401, 401]);
    expect(await statuses(colleagues)).toEqual([200, 200]);
    expect(refusalOf(await accept(anyone(), invited))).toEqual(invalid('token'));
    expect((await accept(anyone(), open)).status).toBe(201);
    expect(await isSignedIn(colleague.person)).toBe(true);
    const log = (await service.readLog()).filter(({ metadata }) => metadata.customerId === customerId);
    const ended = log
      .filter(({ type }) => type.endsWith('Revoked'))
      .map(({ type, data }) => [type, data['by']]);
    expect(ended).toEqual([
      ['ApiKeyRevoked', undefined],
      ['InvitationRevoked', undefined],
      ['OAuthGrantRevoked', 'reset'],
    ]);

    const owner = anyone();
    expect((await signIn(owner, email, NEXT_PASSWORD)).body.data.userId).toBe(userId);
    const after = [await keyOf(owner), await tokenOf(owner)];
    await request(email);
    token = linkIn(await mailTo(service, email, 'Choose a new password', 2)).token;
    expect((await setWith(await ticketOf(), 'eight green lizards')).status).toBe(200);
    expect(await isSignedIn(owner)).toBe(false);
    expect(await statuses(after)).toEqual([200, 200]);
  });

  it('works once: neither the link nor the ticket can be used again', async () => {
    const ticket = await ticketOf();
    expect(refusalOf(await verify(token))).toEqual(invalid('token'));
    expect((await setWith(ticket)).status).toBe(200);
    expect(refusalOf(await setWith(ticket, 'eight green lizards'))).toEqual(invalid('ticket'));
    expect((await signIn(anyone(), user.email, NEXT_PASSWORD)).status).toBe(200);
  });

  it('is one of many at once', async () => {
    const verified = await Promise.all(Array.from({ length: 5 }, () => verify(token)));
    const [won, ...more] = verified.filter(({ status }) => status === 200);
    expect(more).toEqual([]);
    const ticket = won?.body.data.ticket ?? '';
    const words = ['one', 'two', 'three'];
    const answers = await Promise.all(words.map((word) => setWith(ticket, `${NEXT_PASSWORD} ${word}`)));
    const done = words.filter((_, n) => answers[n]?.status === 200);
    expect(done).toHaveLength(1);
    expect((await signIn(anyone(), user.email, `${NEXT_PASSWORD} ${done[0]}`)).status).toBe(200);
  });

  it('is refused with an expired link, and with an expired ticket', async () => {
    const ticket = await ticketOf();
    await expire(ticket);
    expect(refusalOf(await setWith(ticket))).toEqual(invalid('ticket'));
    await request(user.email);
    const { token: next } = linkIn(await mailTo(service, user.email, 'Choose a new password', 2));
    await expire(next);
    expect(refusalOf(await verify(next))).toEqual(invalid('token'));
    expect((await signIn(anyone(), user.email)).status).toBe(200);
  });

  it('is refused with the token in the place of the ticket, and the reverse', async () => {
    expect(refusalOf(await setWith(token))).toEqual(invalid('ticket'));
    expect(refusalOf(await verify(await ticketOf()))).toEqual(invalid('token'));
  });

  it('keeps the ticket when the new password is refused', async () => {
    const ticket = await ticketOf();
    expect(refusalOf(await setWith(ticket, 'acme tools 2026'))).toEqual(invalid('password'));
    expect((await setWith(ticket)).status).toBe(200);
  });

  it('ends when the password was changed meanwhile', async () => {
    const ticket = await ticketOf();
    await user.person.post('/auth/password', {
      currentPassword: GOOD_PASSWORD,
      newPassword: 'eight green lizards',
    });
    expect(refusalOf(await setWith(ticket))).toEqual(invalid('ticket'));
  });

  it('answers a repeat with the same Idempotency-Key alike', async () => {
    const headers = { 'Idempotency-Key': randomUUID() };
    const [one, other] = [await verify(token, headers), await verify(token, headers)];
    expect([other.status, other.body.data]).toEqual([200, one.body.data]);
    expect(other.headers.get('idempotent-replayed')).toBe('true');
    const again = { 'Idempotency-Key': randomUUID() };
    const { ticket } = one.body.data;
    expect((await setWith(ticket, NEXT_PASSWORD, again)).status).toBe(200);
    expect((await setWith(ticket, NEXT_PASSWORD, again)).status).toBe(200);
    expect(refusalOf(await verify(token, headers))).toEqual(conflict());
    const changes = (await service.eventsOf(`account-${user.customerId}`)).filter(
      ({ data }) => data['by'] === 'reset',
    );
    expect(changes).toHaveLength(1);
  });

  it('stores only hashes: the database does not contain the token or the ticket', async () => {
    const ticket = await ticketOf();
    const { rows } = await service.pool.query<{ dump: string }>(
      `select string_agg(t::text, ' ') as dump from (
         select l::text as t from one_time_links l union all select w::text from work_list w
         union all select k::text from idempotency_keys k) all_rows`,
    );
    const dump = rows[0]?.dump ?? '';
    expect(dump).toContain('password-reset');
    expect([token, ticket, user.email].filter((secret) => dump.includes(secret))).toEqual([]);
  });
});

describe('a request for a mail', () => {
  it('answers alike for known and unknown addresses: status, body, length and time', async () => {
    const { email } = await signUp(service);
    const [known, unknown] = [() => request(email), () => request('stranger@example.test')];
    const [one, other] = [await known(), await unknown()];
    expect([one.status, one.text, one.headers.get('content-length')]).toEqual([
      other.status,
      other.text,
      other.headers.get('content-length'),
    ]);
    expect([one.status, one.body.data]).toEqual([202, { status: 'check-mail' }]);
    expect(await medianDifference(known, unknown, 5)).toBeLessThan(5);
  });

  it('sends nothing to unknown addresses and to users of disabled accounts', async () => {
    const { email, customerId } = await signUp(service);
    await setAccess(service.installation, customerId, 'disabled');
    await request(email);
    await request('nothing@example.test');
    await until(async () => {
      const { rows } = await service.pool.query(`select from work_list where kind = 'mail'`);
      return rows.length === 0;
    });
    const to = [...(await readOutbox(service.dataDir)).values()].map(({ headers }) => headers['to']);
    expect([to.includes(email), to.includes('nothing@example.test')]).toEqual([false, false]);
  });

  it('writes links to BASE_URL, not to the host of the request', async () => {
    const { email } = await signUp(service);
    await anyone().post(`${reset}/request`, { email }, { 'X-Forwarded-Host': 'evil.example' });
    expect(await mailTo(service, email, 'Choose a new password')).not.toContain('evil.example');
  });
});

describe("an operator's link", () => {
  const linkFor = async (customerId: number, userId: string): Promise<string> => {
    const token = newLinkToken();
    await insertLink(service.pool, token, { purpose: 'set-up', customerId, userId, validMs: 3_600_000 });
    return token;
  };
  const setUp = (person: Person, token: string, email: string, headers = {}) =>
    person.post('/auth/set-up', { token, email, password: NEXT_PASSWORD }, headers);
  let users = 0;
  const newEmail = (): string => `linked-${(users += 1)}@example.test`;

  it('gives a user an address and a password, once, and signs in', async () => {
    const { customerId } = await service.openAccount();
    const userId = await createUser(service.installation, customerId, { name: 'Mo', role: 'member' });
    const [token, email] = [await linkFor(customerId, userId), newEmail()];
    const person = anyone();
    const answer = await setUp(person, token, email);
    expect([answer.status, answer.body.data]).toEqual([201, { userId, customerId }]);
    const me = await person.get('/api/v2/accounts/current/user');
    expect(me.body.data).toMatchObject({ id: userId, name: 'Mo', email, role: 'member' });
    expect((await person.get('/api/v2/buyer/api-keys')).status).toBe(403);
    expect(refusalOf(await setUp(anyone(), token, email))).toEqual(invalid('token'));
    expect((await signIn(anyone(), email, NEXT_PASSWORD)).status).toBe(200);
  });

  it('stays valid when the address is taken', async () => {
    const { email: taken } = await signUp(service);
    const { customerId } = await service.openAccount();
    const token = await linkFor(customerId, `${customerId}-1`);
    expect(refusalOf(await setUp(anyone(), token, taken))).toEqual(conflict('email'));
    expect((await setUp(anyone(), token, newEmail())).status).toBe(201);
  });

  it('sets a new password for the user with this address, and ends the sessions', async () => {
    const { person, email, customerId, userId } = await signUp(service);
    const token = await linkFor(customerId, userId);
    expect(refusalOf(await setUp(anyone(), token, newEmail()))).toEqual(invalid('email'));
    const own = anyone();
    expect((await setUp(own, token, email)).status).toBe(201);
    expect(await Promise.all([person, own].map(isSignedIn))).toEqual([false, true]);
    expect((await signIn(anyone(), email)).status).toBe(401);
  });

  it.each(['first', 'new'])('is answered alike when its request is repeated: %s password', async (kind) => {
    const known = kind === 'new' ? await signUp(service) : undefined;
    const { customerId } = known ?? (await service.openAccount());
    const email = known?.email ?? newEmail();
    const token = await linkFor(customerId, `${customerId}-1`);
    const headers = { 'Idempotency-Key': randomUUID() };
    const person = anyone();
    expect((await setUp(person, token, email, headers)).status).toBe(201);
    expect((await setUp(person, token, email, headers)).status).toBe(201);
    expect(await isSignedIn(person)).toBe(true);
    const sessions = await person.get<unknown[]>('/api/v2/accounts/current/sessions');
    expect(sessions.body.data).toHaveLength(1);
  });

  it('is refused when it has expired, and for a disabled account', async () => {
    const { customerId } = await service.openAccount();
    const [old, good] = [
      await linkFor(customerId, `${customerId}-1`),
      await linkFor(customerId, `${customerId}-1`),
    ];
    await expire(old);
    expect(refusalOf(await setUp(anyone(), old, newEmail()))).toEqual(invalid('token'));
    await setAccess(service.installation, customerId, 'disabled');
    expect(refusalOf(await setUp(anyone(), good, newEmail()))).toEqual(conflict());
  });

  it('is deleted a day after its end', async () => {
    const { customerId } = await service.openAccount();
    const [token, recent] = [
      await linkFor(customerId, `${customerId}-1`),
      await linkFor(customerId, `${customerId}-1`),
    ];
    await expire(recent);
    await service.pool.query(
      `update one_time_links set expires_at = now() - interval '25 hours' where token_hash = $1`,
      [createHash('sha256').update(token).digest()],
    );
    await signInHousekeeping(service.installation)['one-time links'].purge(1_000);
    const { rows } = await service.pool.query('select from one_time_links where customer_id = $1', [
      customerId,
    ]);
    expect(rows).toHaveLength(1);
  });
});
