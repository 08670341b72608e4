import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { conflict, invalid, refusalOf } from '../support/api-client.ts';
import { startMailServer, type MailServer } from '../support/mail-server.ts';
import { medianDifference } from '../support/median-difference.ts';
import { linkIn } from '../support/outbox-link.ts';
import { GOOD_PASSWORD, Person, signIn } from '../support/person.ts';
import { readMail } from '../support/read-mail.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { until } from '../support/until.ts';

/** A mail server is set, so addresses are verified. */

let mails: MailServer;
let service: RunningService;
beforeAll(async () => {
  mails = await startMailServer();
  service = await startRunningService({
    SMTP_URL: `smtp://127.0.0.1:${mails.port}`,
    MAIL_FROM: 'Exchange <exchange@example.test>',
  });
});
afterAll(async () => {
  await service.stop();
  await mails.stop();
});

const newAddress = (): string => `v-${randomUUID()}@acme.test`;
const anyone = (): Person => new Person(service);
const signUp = (email: string, password = GOOD_PASSWORD) =>
  anyone().post('/auth/signup', { email, password, company: 'Widgets' });
const verify = (person: Person, token: string, password = GOOD_PASSWORD, headers = {}) =>
  person.post<{ userId: string; customerId: number }>('/auth/verify-email', { token, password }, headers);
const mailsTo = (email: string) =>
  mails.received.filter(({ to }) => to.includes(email)).map(({ source }) => readMail(source));
const linkTo = async (email: string): Promise<string> => {
  await until(async () => mailsTo(email).length > 0);
  const { page, token, url } = linkIn(mailsTo(email).at(-1)?.text ?? '');
  expect([page, url.startsWith(`${service.baseUrl}/console/`)]).toEqual(['verify-email', true]);
  return token;
};
const opened = async (): Promise<number> =>
  (await service.readLog()).filter(({ type }) => type === 'AccountOpened').length;

it('the account opens from the mail, with the password of the sign-up', async () => {
  const email = newAddress();
  const before = await opened();
  const asked = await signUp(email);
  expect([asked.status, asked.body.data, asked.headers.get('set-cookie')]).toEqual([
    202,
    { status: 'check-mail' },
    null,
  ]);
  const token = await linkTo(email);
  expect((await signIn(anyone(), email)).status).toBe(401);
  expect(await opened()).toBe(before);
  const person = anyone();
  expect((await verify(person, token, 'not my password')).status).toBe(401);
  const answer = await verify(person, token);
  const { customerId, userId } = answer.body.data;
  expect(answer.status).toBe(201);
  const me = await person.get('/api/v2/accounts/current/user');
  expect(me.body.data).toMatchObject({ id: userId, email, emailVerified: true, role: 'admin' });
  const events = await service.eventsOf(`account-${customerId}`);
  expect(events.map(({ type }) => type)).toEqual(['AccountOpened', 'PasswordSet', 'EmailVerified']);
  expect(events[0]?.data).toEqual({ customerId, name: 'Widgets', customerDomain: 'acme.test' });
  // The link works once.
  expect(refusalOf(await verify(anyone(), token))).toEqual(invalid('token'));
});

it('a link opens one account, also for requests at once, and for a repeat', async () => {
  const email = newAddress();
  await signUp(email);
  const token = await linkTo(email);
  const before = await opened();
  const headers = { 'Idempotency-Key': randomUUID() };
  const answers = await Promise.all([
    verify(anyone(), token, GOOD_PASSWORD, headers),
    verify(anyone(), token),
    verify(anyone(), token),
  ]);
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(await opened()).toBe(before + 1);

  const other = newAddress();
  await signUp(other);
  const next = await linkTo(other);
  const again = { 'Idempotency-Key': randomUUID() };
  const [one, two] = [await verify(anyone(), next, GOOD_PASSWORD, again), anyone()];
  expect((await verify(two, next, GOOD_PASSWORD, again)).body.data).toEqual(one.body.data);
  expect((await two.get('/api/v2/accounts/current/user')).status).toBe(200);
  expect(await opened()).toBe(before + 2);
});

it('an expired link opens nothing', async () => {
  const email = newAddress();
  await signUp(email);
  const token = await linkTo(email);
  await service.pool.query('update one_time_links set expires_at = now() where token_hash = $1', [
    createHash('sha256').update(token).digest(),
  ]);
  expect(refusalOf(await verify(anyone(), token))).toEqual(invalid('token'));
});

it('of two links for one address, the first opens the account', async () => {
  const email = newAddress();
  await signUp(email);
  const first = await linkTo(email);
  await signUp(email, 'another good one');
  await until(async () => mailsTo(email).length > 1);
  const second = await linkTo(email);
  expect((await verify(anyone(), first)).status).toBe(201);
  expect(refusalOf(await verify(anyone(), second, 'another good one'))).toEqual(conflict());
  expect((await anyone().post('/auth/sign-in', { email, password: GOOD_PASSWORD })).status).toBe(200);
});

it('sign-ups with known and unknown addresses are answered alike: status, body, length and time', async () => {
  const email = newAddress();
  await signUp(email);
  await verify(anyone(), await linkTo(email));
  const [known, unknown] = [() => signUp(email), () => signUp(newAddress())];
  const [one, other] = [await known(), await unknown()];
  expect([one.status, one.text, one.headers.get('content-length')]).toEqual([
    other.status,
    other.text,
    other.headers.get('content-length'),
  ]);
  await until(async () => mailsTo(email).length > 1);
  expect(mailsTo(email).at(-1)?.headers['subject']).toBe('You have an account already');
  expect(await medianDifference(known, unknown, 5)).toBeLessThan(5);
});
