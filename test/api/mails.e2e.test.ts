import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { requestMail } from '../../command/workers/mail/request-mail.ts';
import { collectTexts, filesOf, foundIn, tablesOf } from '../support/canary/searched-texts.ts';
import { exchange } from '../support/program.ts';
import { refusal, startMailServer, type MailServer } from '../support/mail-server.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { invitations } from '../support/invited.ts';
import { GOOD_PASSWORD, signUp } from '../support/person.ts';
import { composeSample, sampleKeys, sampleLink } from '../support/sample-mails.ts';
import { until } from '../support/until.ts';

/** Mails over SMTP with a login, each with another end. Then all outputs are searched for what they contain. */

const PASSWORD = 'canary-smtp-password';
let service: RunningService;
let server: MailServer;
let log = '';
/** Answers the mails that the server keeps waiting. */
const held: (() => void)[] = [];

beforeAll(async () => {
  server = await startMailServer({
    authOptional: false,
    allowInsecureAuth: true,
    onRcptTo: ({ address }, _session, done) => {
      if (address.startsWith('unknown')) return done(refusal(550, `5.1.1 <${address}> is unknown`));
      if (address.startsWith('busy')) return done(refusal(451, `4.7.1 <${address}> is busy`));
      done();
    },
    onMail: ({ to }, answer) => (to[0]?.startsWith('slow') === true ? held.push(answer) : answer()),
  });
  service = await startRunningService(
    {
      SMTP_URL: `smtp://user:${PASSWORD}@127.0.0.1:${server.port}`,
      MAIL_FROM: 'Exchange <no-reply@exchange.example>',
    },
    pino({ level: 'trace' }, { write: (line: string) => void (log += line) }),
    { composeMail: composeSample },
  );
});
afterAll(async () => {
  await service.stop();
  await server.stop();
});

const request = async (kind: string, customerId: number, name: string | null = 'Zoë'): Promise<string> => {
  const mailId = randomUUID();
  const { pool, keys } = service.installation;
  await requestMail(pool, keys, {
    customerId,
    mailId,
    request: { to: `${kind}-${mailId}@buyer.example`, name },
  });
  return mailId;
};

const reasons = async (): Promise<ReadonlyMap<string, string | null>> => {
  const { rows } = await service.pool.query<{ key: string; reason: string | null }>(
    `select key, last_error as reason from work_list where kind = 'mail'`,
  );
  return new Map(rows.map(({ key, reason }) => [key, reason]));
};

it('mails arrive, or show why not, and no address, link or password is anywhere else', async () => {
  const collected = collectTexts();
  const search = async (): Promise<void> => {
    const redis = (await service.redis?.entries()) ?? [];
    collected.add({
      ...(await tablesOf(service.databaseUrl)),
      ...(await filesOf(service.dataDir)),
      redis: redis.join('\n'),
    });
  };
  const [good, slow, unknown, busy, broken] = [
    await request('good', 0),
    await request('slow', 0),
    await request('unknown', 7),
    await request('busy', 7),
    await request('broken', 8, null),
  ];
  await search();
  await until(async () => held.length > 0);
  await until(async () => [...(await reasons()).values()].filter((reason) => reason !== null).length === 3);
  await search();
  for (const answer of held) answer();
  await until(async () => (await reasons()).size === 3);
  expect(await reasons()).toEqual(
    new Map([
      [unknown, 'The mail server refused the recipient (550 5.1.1).'],
      [busy, 'The mail server refused the recipient (451 4.7.1).'],
      [broken, 'The mail cannot be composed (TypeError).'],
    ]),
  );
  expect(server.received.map(({ to }) => String(to)).toSorted()).toEqual([
    `good-${good}@buyer.example`,
    `slow-${slow}@buyer.example`,
  ]);
  const { rows } = await service.pool.query<{ id: string }>(
    `select id from secrets where owner_kind = 'mail'`,
  );
  expect(rows.map(({ id }) => id).toSorted()).toEqual([busy, broken].toSorted());

  const shown = await exchange(['work', 'list', 'mail'], { ...service.stores, SECRET_KEYS: sampleKeys });
  expect(shown.stdout).toContain('refused the recipient (550 5.1.1)');
  const metrics = await service.metrics();
  expect(metrics).toContain('exchange_work_failing{kind="mail"} 2');
  await service.end();
  await search();
  collected.add({ log, shown: shown.stdout + shown.stderr, metrics });
  const { places } = collected;
  expect(places[service.redis === undefined ? 'bullmq.job' : 'redis']).toContain(slow);
  expect(log).toContain('a mail was given up');
  const ids = [good, slow, unknown, busy, broken];
  const links = await Promise.all(ids.map(sampleLink));
  const tokens = links.map((link) => link.slice(link.indexOf('=') + 1));
  expect(foundIn(places, [PASSWORD, 'buyer.example', ...tokens])).toEqual([]);
});

it('leads from a mail that waits to the request that caused it', async () => {
  const api = await startRunningService({ ROLES: 'api,projector' });
  try {
    const { person, email } = await signUp(api);
    const answers = [
      await person.post('/auth/password-reset/request', { email }),
      await person.post('/auth/signup', { email, password: GOOD_PASSWORD, company: 'Acme' }),
      await person.post(invitations, { email: 'invited@buyer.example', role: 'member' }),
      await person.post('/auth/password', { currentPassword: GOOD_PASSWORD, newPassword: 'five red herons' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([202, expect.any(Number), 201, 204]);
    const { rows } = await api.pool.query<{ id: string }>(
      `select correlation_id as id from work_list where kind = 'mail'`,
    );
    const requests = answers.map(({ headers }) => headers.get('x-request-id') ?? '');
    expect(rows.map(({ id }) => id).toSorted()).toEqual(requests.toSorted());
  } finally {
    await api.stop();
  }
});
