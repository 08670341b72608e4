import { issueLink } from '../../../cli/operate-users.ts';
import { codeOfStep } from '../../../command/accounts/second-factor.ts';
import { acceptedSteps } from '../../../domain/accounts/totp.ts';
import type { ApiAnswer } from '../api-client.ts';
import type { MailServer } from '../mail-server.ts';
import { OAuthBrowser } from '../oauth-browser.ts';
import { pkce, registerClient, TestClient, useToken } from '../oauth-service.ts';
import { Person } from '../person.ts';
import { readMail } from '../read-mail.ts';
import { until } from '../until.ts';
import { newSecret, type CanaryRun } from './canary-run.ts';

const current = '/api/v2/accounts/current';
const WAIT_MS = 30_000;

/**
 * Passwords, links in mails, session secrets, seeds and codes of a second factor, and all that OAuth hands out: used,
 * repeated, wrong, sent to wrong places, and sent during outages.
 */
export const drivePeople = async (run: CanaryRun, mails: MailServer): Promise<void> => {
  const person = await signUp(run, mails);
  await signUpInOutage(run, mails);
  await sendBroken(run, person);
  const code = await turnOnSecondFactor(run, person);
  await driveOAuth(run, person);
  await inviteAndSetUp(run, mails, person);
  await changePasswords(run, mails, person, code);
  await run.searchStores();
};

interface SignedUpPerson {
  readonly email: string;
  readonly browser: TrackedBrowser;
  password: string;
}

/** A browser whose answers are recorded without the secrets that they show, and whose cookies are tracked. */
class TrackedBrowser {
  readonly person: Person;
  private readonly run: CanaryRun;

  constructor(run: CanaryRun, person = new Person(run.service)) {
    this.run = run;
    this.person = person;
  }

  async post<Data>(path: string, body: unknown, shown: (data: Data) => readonly string[] = () => []) {
    return this.record(await this.person.post<Data>(path, body), shown);
  }

  /** Twice, with one key. */
  async postKeyed<Data>(path: string, body: unknown, shown: (data: Data) => readonly string[] = () => []) {
    const headers = { 'Idempotency-Key': newSecret() };
    this.record(await this.person.post<Data>(path, body, headers), shown);
    return this.record(await this.person.post<Data>(path, body, headers), shown);
  }

  async get(path: string): Promise<void> {
    this.record(await this.person.get(path));
  }

  /** The answer's text and the headers but the cookie, which only this answer may contain. */
  private record<Data>(answer: ApiAnswer<Data>, shown: (data: Data) => readonly string[] = () => []) {
    const { cookie } = this.person;
    if (cookie !== undefined) this.run.track(cookie);
    const { data } = answer.body;
    const secrets = data === null || data === undefined ? [] : shown(data);
    const headers = [...answer.headers].filter(([name]) => name !== 'set-cookie');
    let text = `${answer.status} ${JSON.stringify(headers)} ${answer.text}`;
    for (const secret of secrets) text = text.replaceAll(this.run.track(secret), '');
    this.run.recordAnswer(text);
    return answer;
  }
}

/** Mails may arrive in any order: a notice sent earlier may be the newest. */
const linkIn = async ({ track }: CanaryRun, mails: MailServer, email: string, page: string) => {
  const link = new RegExp(`/console/${page}#token=([\\w-]+)`);
  let token: string | undefined;
  await until(async () => {
    const texts = mails.received
      .filter(({ to }) => to.includes(email))
      .map(({ source }) => readMail(source).text);
    token = texts.flatMap((text) => link.exec(text)?.slice(1) ?? []).at(-1);
    return token !== undefined;
  }, WAIT_MS);
  return track(token ?? '');
};

/** The sign-up of another person fails while the event store does. */
const signUpInOutage = async (run: CanaryRun, mails: MailServer): Promise<void> => {
  const { track, withFailingStore, searchStores } = run;
  const browser = new TrackedBrowser(run);
  const email = 'outage@people.example';
  const password = track(newSecret());
  await browser.post('/auth/signup', { email, password, company: 'Outage' });
  const token = await linkIn(run, mails, email, 'verify-email');
  await withFailingStore(async () => void (await browser.post('/auth/verify-email', { token, password })));
  await browser.post('/auth/verify-email', { token, password });
  await searchStores();
};

const expectStatus = ({ status, text }: { status: number; text: string }, expected: number): void => {
  if (status !== expected) throw new Error(`${status} instead of ${expected}: ${text}`);
};

const signUp = async (run: CanaryRun, mails: MailServer): Promise<SignedUpPerson> => {
  const { track, searchStores } = run;
  const browser = new TrackedBrowser(run);
  const email = 'canary@people.example';
  const password = track(newSecret('pass '));
  const company = 'Canary people';
  expectStatus(await browser.postKeyed('/auth/signup', { email, password, company }), 202);
  await searchStores();
  const token = await linkIn(run, mails, email, 'verify-email');
  await browser.post('/auth/verify-email', { token, password: track(newSecret()) });
  expectStatus(await browser.post('/auth/verify-email', { token, password }), 201);
  await browser.post('/auth/verify-email', { token, password });
  // Taken now: the mail says so.
  await browser.post('/auth/signup', { email, password: track(newSecret()), company });
  return { email, browser, password };
};

/** Wrong, malformed, in wrong places, and while tables are gone. */
const sendBroken = async (run: CanaryRun, { email, password }: SignedUpPerson): Promise<void> => {
  const { track, withoutTable } = run;
  const stranger = new TrackedBrowser(run);
  const bodies = [
    { email, password: track(newSecret()) },
    { email: 'unknown@people.example', password: track(newSecret()) },
    { email, password: [track(newSecret())] },
    { email, password: { [track(newSecret())]: track(newSecret()) } },
    { email: track(newSecret()), password: track(newSecret()) },
    { email, password: track(`${'x'.repeat(120)}${newSecret()}`) },
    { email, password, code: track(newSecret()) },
  ];
  for (const body of bodies) {
    for (const path of ['/auth/sign-in', '/auth/signup', '/auth/password', '/auth/set-up']) {
      await stranger.postKeyed(path, { company: 'Canary', ...body });
    }
  }
  for (const path of ['password-reset/verify', 'password-reset/reset', 'invitations/accept', 'set-up']) {
    const token = track(newSecret());
    await stranger.post(`/auth/${path}`, {
      token,
      ticket: token,
      email,
      name: 'Mo',
      password: track(newSecret()),
    });
    await stranger.get(`/auth/${path}?token=${track(newSecret())}`);
  }
  for (const table of ['user_addresses', 'logins', 'sessions']) {
    await withoutTable(table, async () => void (await stranger.post('/auth/sign-in', { email, password })));
  }
  const forged = new TrackedBrowser(run, new Person(run.service, track(newSecret())));
  await forged.get(`${current}/user`);
  await forged.post('/auth/sign-out', {});
  await stranger.post('/auth/sign-in', { email, password });
  await stranger.post('/auth/sign-out', {});
};

type NextCode = () => string;

const turnOnSecondFactor = async (run: CanaryRun, { email, browser, password }: SignedUpPerson) => {
  const totp = `${current}/user/totp`;
  let seed = '';
  await browser.post(totp, { password: run.track(newSecret()) });
  await browser.post<{ secret: string; otpauthUri: string }>(totp, { password }, ({ secret }) => {
    seed = fromBase32(secret);
    return [secret];
  });
  const codeNow = (): string => codeOfStep(seed, acceptedSteps(Date.now(), undefined)[1] ?? 0);
  await browser.post(`${totp}/confirm`, { code: '000000' });
  let codes: readonly string[] = [];
  const confirmed = await browser.post<{ lookupCodes: readonly string[] }>(
    `${totp}/confirm`,
    { code: codeNow() },
    ({ lookupCodes }) => (codes = lookupCodes),
  );
  expectStatus(confirmed, 200);
  const other = new TrackedBrowser(run);
  await other.post('/auth/sign-in', { email, password });
  await other.post('/auth/sign-in', { email, password, code: 'aaaa-bbbb-cccc-dddd' });
  let used = 0;
  const nextCode: NextCode = () => codes[used++] ?? '';
  expectStatus(await other.post('/auth/sign-in', { email, password, code: nextCode() }), 200);
  for (const path of ['user', 'sessions', 'members', 'connected-apps', 'history', 'explain']) {
    await other.get(`${current}/${path}`);
  }
  return nextCode;
};

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** @returns base64url, as `codeOfStep` takes it */
const fromBase32 = (text: string): string => {
  const bits = Array.from(text, (letter) => LETTERS.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const bytes = bits.match(/.{8}/g) ?? [];
  return Buffer.from(bytes.map((eight) => Number.parseInt(eight, 2))).toString('base64url');
};

const driveOAuth = async (run: CanaryRun, { browser }: SignedUpPerson): Promise<void> => {
  const { service, track, recordAnswer, withFailingStore, withoutTable, searchStores } = run;
  const { baseUrl } = service;
  const registered = await registerClient(baseUrl, { client_secret: track(newSecret()) });
  recordAnswer(await registered.text());
  const client = await TestClient.register(baseUrl);
  const consent = new OAuthBrowser(service, Promise.resolve(browser.person.cookie ?? ''));
  const first = await client.authorize(consent);
  track(first.code);
  track(first.verifier);
  type Answer = Awaited<ReturnType<typeof client.redeem>>;
  const record = ({ status, headers, body }: Answer): Answer => {
    const { access_token: access, refresh_token: refresh, ...rest } = body;
    for (const token of [access, refresh]) if (token !== undefined) track(token);
    recordAnswer(`${status} ${JSON.stringify([...headers])} ${JSON.stringify(rest)}`);
    return { status, headers, body };
  };
  record(await client.redeem({ ...first, verifier: track(pkce().verifier) }));
  const code = await client.authorize(consent);
  track(code.code);
  track(code.verifier);
  const { body: tokens } = record(await client.redeem(code));
  for (const path of ['/api/v2/buyer/advertisers', `${current}/connected-apps`, '/mcp', '/nowhere']) {
    await useToken(baseUrl, tokens.access_token, path);
    await useToken(baseUrl, track(newSecret('at_')), path);
  }
  const { body: next } = record(await client.refresh(tokens.refresh_token));
  await withoutTable('oauth_records', async () => {
    await useToken(baseUrl, next.access_token);
    await fetch(`${baseUrl}/auth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        client_id: client.clientId,
        refresh_token: next.refresh_token,
      }),
    }).then(async (answer) => recordAnswer(await answer.text()));
  });
  await withFailingStore(async () => void (await client.revoke(next.refresh_token)));
  record(await client.refresh(track(newSecret('rt_'))));
  record(await client.redeem(code));
  await searchStores();
  await client.revoke(next.access_token);
  await useToken(baseUrl, next.access_token);
};

const inviteAndSetUp = async (run: CanaryRun, mails: MailServer, { browser }: SignedUpPerson) => {
  const { service, track } = run;
  const email = 'invited@people.example';
  await browser.post(`${current}/invitations`, { email, role: 'member' });
  const token = await linkIn(run, mails, email, 'invitation');
  const invited = new TrackedBrowser(run);
  await invited.post('/auth/invitations/accept', { token, name: 'Mo', password: 'too short' });
  const body = { token, name: 'Mo', password: track(newSecret()) };
  const accepted = await invited.post<{ userId: string; customerId: number }>(
    '/auth/invitations/accept',
    body,
  );
  expectStatus(accepted, 201);
  const { userId, customerId } = accepted.body.data;
  await invited.post('/auth/invitations/accept', body);
  const link = await issueLink(service.installation, { customerId, userId });
  const setUp = { token: track(link.token), email, password: track(newSecret()) };
  expectStatus(await invited.post('/auth/set-up', setUp), 201);
  await invited.post('/auth/set-up', setUp);
};

const changePasswords = async (
  run: CanaryRun,
  mails: MailServer,
  { email, browser, password }: SignedUpPerson,
  nextCode: NextCode,
): Promise<void> => {
  const { track, searchStores } = run;
  const second = track(newSecret());
  await browser.post('/auth/password', { currentPassword: track(newSecret()), newPassword: second });
  const changed = await browser.post('/auth/password', { currentPassword: password, newPassword: second });
  expectStatus(changed, 204);
  await browser.post('/auth/password-reset/request', { email });
  await searchStores();
  const token = await linkIn(run, mails, email, 'password-reset');
  let ticket = '';
  await browser.post<{ ticket: string }>('/auth/password-reset/verify', { token }, (data) => [
    (ticket = data.ticket),
  ]);
  const third = track(newSecret());
  await browser.post('/auth/password-reset/reset', { ticket, password: third });
  const reset = await browser.post('/auth/password-reset/reset', {
    ticket,
    password: third,
    code: nextCode(),
  });
  expectStatus(reset, 200);
  await browser.post('/auth/password-reset/reset', { ticket, password: track(newSecret()) });
  expectStatus(await browser.post('/auth/sign-in', { email, password: third, code: nextCode() }), 200);
};
