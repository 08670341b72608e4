import { createTransport } from 'nodemailer';
import { timeoutSignal } from '../async/timeout.ts';
import type { Sender } from './mail-address.ts';
import { mailMessage } from './mail-message.ts';
import { MailError, type Mailer } from './mailer.ts';
import type { SmtpServer } from './smtp-server.ts';

export interface SmtpTimeouts {
  readonly connectMs: number;
  /** For one mail, including the connection. */
  readonly wholeMs: number;
}

const TIMEOUTS: SmtpTimeouts = { connectMs: 10_000, wholeMs: 30_000 };
/** A connection that idles longer may be closed by the server. */
const IDLE_MS_MAX = 10_000;

/** @param connectionsMax at least the number of mails that are sent at once: waiting for one counts as time of a mail */
export const createSmtpMailer = (
  { host, port, tls, login }: SmtpServer,
  from: Sender,
  connectionsMax: number,
  { connectMs, wholeMs }: SmtpTimeouts = TIMEOUTS,
): Mailer => {
  const transport = createTransport({
    pool: true,
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'off',
    ...(login !== undefined && { auth: { ...login } }),
    maxConnections: connectionsMax,
    // Only mails of which no byte was sent are queued again: the connection was stale.
    maxRequeues: 1,
    idleTimeout: IDLE_MS_MAX,
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    dnsTimeout: connectMs,
    socketTimeout: wholeMs,
  });
  return {
    kind: 'smtp',
    send: async (id, mail, signal) => {
      const end = timeoutSignal(wholeMs);
      const message = mailMessage(from, id, mail);
      await transport
        .sendMail({ ...message, signal: signal === undefined ? end : AbortSignal.any([end, signal]) })
        .catch((error: unknown) => {
          throw mailErrorOf(error, wholeMs);
        });
    },
    close: async () => transport.close({ force: true }),
  };
};

interface SmtpFailure {
  readonly code?: unknown;
  readonly originalCode?: unknown;
  readonly responseCode?: unknown;
  readonly response?: unknown;
  readonly command?: unknown;
}

/** Only codes: servers repeat addresses and content in their answers. */
const mailErrorOf = (error: unknown, wholeMs: number): MailError => {
  const { code, originalCode, responseCode, response, command } = error as SmtpFailure;
  const again = (message: string): MailError => new MailError(message, { isFinal: false });
  if (code === 'EABORT') return again(`The mail server took longer than ${wholeMs / 1000} s.`);
  if (code === 'ETLS') return again('No TLS connection to the mail server.');
  if (typeof responseCode !== 'number') {
    const reason = [originalCode, code].find(isCode) ?? 'unknown';
    return again(`No connection to the mail server (${reason}).`);
  }
  const answer = [responseCode, ...enhancedCodeOf(response)].join(' ');
  if (code === 'EAUTH') return again(`The mail server refused the login (${answer}).`);
  // Other refusals, e.g. of the sender, are for the operator to end.
  const isOfMail = command === 'RCPT TO' || command === 'DATA';
  const what = command === 'RCPT TO' ? 'the recipient' : command === 'DATA' ? 'the mail' : 'the session';
  return new MailError(`The mail server refused ${what} (${answer}).`, {
    isFinal: isOfMail && responseCode >= 500,
  });
};

const isCode = (code: unknown): code is string =>
  typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(code);

/** E.g. `5.1.1` (RFC 3463). */
const enhancedCodeOf = (response: unknown): readonly string[] =>
  typeof response === 'string' ? (/^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.slice(1) ?? []) : [];
