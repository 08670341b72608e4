import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { packageDirectory } from '../../app/version.ts';
import { MailError, type Mailer } from '../../shared/mail/mailer.ts';
import { createOutbox } from '../../shared/mail/outbox.ts';
import { createSmtpMailer, type SmtpTimeouts } from '../../shared/mail/smtp.ts';
import { parseSmtpUrl } from '../../shared/mail/smtp-server.ts';
import { refusal, startMailServer, type MailServer } from '../support/mail-server.ts';
import { readMail } from '../support/read-mail.ts';
import { testCertificate } from '../support/test-certificate.ts';
import { until } from '../support/until.ts';
import { mailerContract } from './mailer.contract.ts';

const from = { name: '', address: 'no-reply@exchange.example' };
const ADDRESS = 'canary-person@buyer.example';
const PASSWORD = 'canary-password';
const LINK = 'https://exchange.example/canary-link';
const mail = { to: ADDRESS, subject: 'Hello', text: LINK };
const silent = pino({ level: 'silent' });

const newFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'mailers-'));

mailerContract('the outbox', async (sender) => {
  const folder = await newFolder();
  return {
    mailer: createOutbox(join(folder, 'outbox'), sender, silent),
    arrived: async (id) => [await readFile(join(folder, 'outbox', `${id}.eml`), 'latin1')],
    count: async () => (await readdir(join(folder, 'outbox'))).length,
    stop: () => rm(folder, { recursive: true, force: true }),
  };
});

mailerContract('SMTP', async (sender) => {
  const server = await startMailServer();
  const mailer = createSmtpMailer(parseSmtpUrl(`smtp://127.0.0.1:${server.port}`), sender, 5);
  return {
    mailer,
    arrived: async (id) =>
      server.received.flatMap(({ source }) => (source.includes(`<${id}@`) ? source : [])),
    count: async () => server.received.length,
    stop: async () => {
      await mailer.close();
      await server.stop();
    },
  };
});

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

const serverWith = async (...behaviour: Parameters<typeof startMailServer>): Promise<MailServer> => {
  const server = await startMailServer(...behaviour);
  ends.push(() => server.stop());
  return server;
};

const mailerFor = (
  port: number,
  { login = '', query = '', timeouts = undefined as SmtpTimeouts | undefined } = {},
): Mailer => {
  const url = `smtp://${login}127.0.0.1:${port}${query}`;
  const mailer = createSmtpMailer(parseSmtpUrl(url), from, 5, timeouts);
  ends.push(() => mailer.close());
  return mailer;
};

/** The failure of a send: only a `MailError`, and nothing of the mail or the login is in it. */
const failureOf = async (mailer: Mailer, signal?: AbortSignal): Promise<MailError> => {
  const error = await mailer.send(randomUUID(), mail, signal).then(
    () => new Error('it was sent'),
    (failure: unknown) => failure,
  );
  if (!(error instanceof MailError)) throw error;
  const shown = `${JSON.stringify(error)} ${error.stack ?? ''} ${String(error.cause)}`;
  for (const canary of [ADDRESS, PASSWORD, LINK]) expect(shown).not.toContain(canary);
  return error;
};

describe('the outbox', () => {
  it('is readable by its owner only, and logs the id alone', async () => {
    const folder = await newFolder();
    ends.push(() => rm(folder, { recursive: true, force: true }));
    let log = '';
    const logger = pino({ level: 'trace' }, { write: (line: string) => void (log += line) });
    await createOutbox(join(folder, 'outbox'), from, logger).send('one', mail);
    const modes = await Promise.all(['outbox', 'outbox/one.eml'].map((path) => stat(join(folder, path))));
    expect(modes.map(({ mode }) => (mode & 0o777).toString(8))).toEqual(['700', '600']);
    expect(log.trim().split('\n')).toHaveLength(1);
    expect(log).toContain('"mailId":"one"');
    for (const canary of [ADDRESS, LINK, 'Hello']) expect(log).not.toContain(canary);
  });

  it('replaces the draft that a crash left', async () => {
    const folder = await newFolder();
    ends.push(() => rm(folder, { recursive: true, force: true }));
    const outbox = createOutbox(folder, from, silent);
    await writeFile(join(folder, '.one.eml.draft'), 'x'.repeat(10_000));
    await outbox.send('one', mail);
    expect(await readdir(folder)).toEqual(['one.eml']);
    expect(readMail(await readFile(join(folder, 'one.eml'))).text).toBe(LINK);
  });

  it('says why it cannot be written, and another try may succeed', async () => {
    const folder = await newFolder();
    ends.push(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, 'outbox'), 'a file');
    await chmod(join(folder, 'outbox'), 0o600);
    const error = await failureOf(createOutbox(join(folder, 'outbox'), from, silent));
    expect([error.message, error.isFinal]).toEqual(['The outbox cannot be written (EEXIST).', false]);
  });
});

describe('a mail server that refuses', () => {
  const cases = [
    ['the recipient for now', 'onRcptTo', 450, '4.2.1', 'the recipient', false],
    ['the recipient', 'onRcptTo', 550, '5.1.1', 'the recipient', true],
    ['the sender', 'onMailFrom', 553, '5.7.1', 'the session', false],
    ['the connection', 'onConnect', 554, '5.3.2', 'the session', false],
  ] as const;
  it.each(cases)('%s (%s %s)', async (_what, at, code, enhanced, subject, isFinal) => {
    const server = await serverWith({
      [at]: (...args: readonly unknown[]) => {
        const answer = args.at(-1) as (error: Error) => void;
        answer(refusal(code, `${enhanced} <${ADDRESS}> is refused, see ${LINK}`));
      },
    });
    const error = await failureOf(mailerFor(server.port));
    expect([error.message, error.isFinal]).toEqual([
      `The mail server refused ${subject} (${code} ${enhanced}).`,
      isFinal,
    ]);
    expect(server.received).toEqual([]);
  });

  it.each([
    [452, false],
    [554, true],
  ])('the content with %s', async (code, isFinal) => {
    const server = await serverWith({ onMail: (_mail, answer) => answer(refusal(code, `no ${ADDRESS}`)) });
    const error = await failureOf(mailerFor(server.port));
    expect([error.message, error.isFinal]).toEqual([`The mail server refused the mail (${code}).`, isFinal]);
  });

  it('the login: the operator can correct it, so the mail is tried again', async () => {
    const server = await serverWith({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (login, _session, done) => done(refusal(535, `5.7.8 wrong: ${login.password ?? ''}`)),
    });
    const error = await failureOf(mailerFor(server.port, { login: `user:${PASSWORD}@` }));
    expect([error.message, error.isFinal]).toEqual(['The mail server refused the login (535 5.7.8).', false]);
  });

  it('for now, and accepts the next try', async () => {
    let tries = 0;
    const server = await serverWith({
      onRcptTo: (_address, _session, done) => done(++tries === 1 ? refusal(451, 'greylisted') : null),
    });
    const mailer = mailerFor(server.port);
    expect((await failureOf(mailer)).isFinal).toBe(false);
    await mailer.send('again', mail);
    expect(server.received.map(({ to }) => to)).toEqual([[ADDRESS]]);
  });
});

describe('a mail server that fails', () => {
  const timeouts = { connectMs: 300, wholeMs: 600 };

  it('does not listen', async () => {
    const server = await serverWith();
    await server.stop();
    const error = await failureOf(mailerFor(server.port));
    expect([error.message, error.isFinal]).toEqual([
      'No connection to the mail server (ECONNREFUSED).',
      false,
    ]);
  });

  it.each([
    ['never greets', '', /^No connection to the mail server \(E\w+\)\.$/],
    ['never answers', '220 mail.example ESMTP\r\n', /^The mail server took longer than 0\.6 s\.$/],
  ])('%s: the call ends in time', async (_what, greeting, message) => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined).resume());
      socket.write(greeting);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    ends.push(async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const startedAt = performance.now();
    const error = await failureOf(mailerFor((server.address() as AddressInfo).port, { timeouts }));
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(error.message).toMatch(message);
    expect(error.isFinal).toBe(false);
    await until(async () => [...sockets].every(({ readableEnded, destroyed }) => readableEnded || destroyed));
  });

  it('accepts the mail and answers late: the next try has the same Message-ID', async () => {
    let isSlow = true;
    const server = await serverWith({ onMail: (_mail, answer) => (isSlow ? undefined : answer()) });
    const mailer = mailerFor(server.port, { timeouts });
    await expect(mailer.send('one', mail)).rejects.toThrow('The mail server took longer than 0.6 s.');
    isSlow = false;
    await mailer.send('one', mail);
    const ids = server.received.map(({ source }) => readMail(source).headers['message-id']);
    expect(ids).toEqual(['<one@exchange.example>', '<one@exchange.example>']);
  });

  it('is killed during the data and comes up again: the next try has the same Message-ID', async () => {
    const first = await startMailServer({ onMail: () => void first.stop() });
    const mailer = mailerFor(first.port);
    await expect(mailer.send('one', mail)).rejects.toMatchObject({ isFinal: false });
    await first.stop().catch(() => undefined);
    const second = await serverWith({ port: first.port });
    await mailer.send('one', mail);
    const received = [...first.received, ...second.received];
    expect(second.received).toHaveLength(1);
    expect(new Set(received.map(({ source }) => readMail(source).headers['message-id']))).toEqual(
      new Set(['<one@exchange.example>']),
    );
  });

  it('closes a connection between two mails: the second mail goes over another', async () => {
    const server = await serverWith();
    const mailer = mailerFor(server.port);
    await mailer.send('one', mail);
    await server.stop();
    const again = await serverWith({ port: server.port });
    await mailer.send('two', mail);
    expect([server.received.length, again.received.length]).toEqual([1, 1]);
  });
});

const sendOneMail = (url: string): string => {
  const module = (name: string) => JSON.stringify(join(packageDirectory, 'dist', 'shared', 'mail', name));
  return `
    import { createSmtpMailer } from ${module('smtp.js')};
    import { parseSmtpUrl } from ${module('smtp-server.js')};
    const mailer = createSmtpMailer(parseSmtpUrl(${JSON.stringify(url)}), ${JSON.stringify(from)}, 1);
    await mailer.send('one', ${JSON.stringify(mail)}).finally(() => mailer.close());
  `;
};

describe('SMTP connections', () => {
  it('are reused, and closed with the mailer', async () => {
    let connections = 0;
    const server = await serverWith({
      onConnect: (_session, done) => {
        connections += 1;
        done();
      },
    });
    const mailer = mailerFor(server.port);
    for (const id of ['one', 'two', 'three']) await mailer.send(id, mail);
    expect([server.received.length, connections, server.open()]).toEqual([3, 1, 1]);
    await mailer.close();
    await until(async () => server.open() === 0);
  });

  it('end when the process does', async () => {
    const server = await serverWith({ onMail: () => undefined });
    const ending = new AbortController();
    const failed = failureOf(mailerFor(server.port), ending.signal);
    await until(async () => server.received.length === 1);
    ending.abort();
    expect((await failed).isFinal).toBe(false);
    await until(async () => server.open() === 0);
  });

  it('sign in', async () => {
    const server = await serverWith({ authOptional: false, allowInsecureAuth: true });
    await mailerFor(server.port, { login: 'us%40er:p%3Aw@' }).send('one', mail);
    expect(server.logins).toEqual([{ user: 'us@er', isTls: false }]);
    expect(server.received).toHaveLength(1);
  });

  it('send neither login nor mail without TLS where it is required', async () => {
    const server = await serverWith({ allowInsecureAuth: true });
    const mailer = mailerFor(server.port, { login: `user:${PASSWORD}@`, query: '?tls=required' });
    expect((await failureOf(mailer)).message).toBe('No TLS connection to the mail server.');
    expect([server.logins, server.received]).toEqual([[], []]);
  });

  it.each([
    ['smtps', '', { secure: true }],
    ['smtp', '?tls=required', { disabledCommands: [] }],
  ])('sign in and send with TLS: %s%s, where the process trusts the certificate', async (...given) => {
    const [protocol, query, behaviour] = given;
    const server = await serverWith({ ...testCertificate, ...behaviour, authOptional: false });
    const url = `${protocol}://user:${PASSWORD}@127.0.0.1:${server.port}${query}`;
    const folder = await newFolder();
    ends.push(() => rm(folder, { recursive: true, force: true }));
    const trusted = join(folder, 'trusted.pem');
    await writeFile(trusted, testCertificate.cert);
    // Node reads the variable only when a process starts.
    const send = (environment: Readonly<Record<string, string>>) =>
      promisify(execFile)(process.execPath, ['--input-type=module', '--eval', sendOneMail(url)], {
        env: environment,
      });
    await expect(send({})).rejects.toThrow(/No connection to the mail server \((?:SELF|DEPTH|UNABLE)_\w+\)/);
    expect([server.logins, server.received]).toEqual([[], []]);
    await send({ NODE_EXTRA_CA_CERTS: trusted });
    expect(server.logins).toEqual([{ user: 'user', isTls: true }]);
    expect(server.received.map(({ to }) => to)).toEqual([[ADDRESS]]);
  });

  it('send neither login nor mail to a server whose certificate is not valid', async () => {
    const server = await serverWith({ disabledCommands: [] });
    const mailer = mailerFor(server.port, { login: `user:${PASSWORD}@`, query: '?tls=required' });
    const error = await failureOf(mailer);
    expect(error.message).toMatch(
      /^No connection to the mail server \((?:CERT|DEPTH|SELF|UNABLE|ERR)_\w+\)\.$/,
    );
    expect(error.isFinal).toBe(false);
    expect([server.logins, server.received]).toEqual([[], []]);
  });
});
