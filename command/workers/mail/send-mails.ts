import type { Logger } from 'pino';
import { z } from 'zod';
import { failpoint } from '../../../shared/async/failpoints.ts';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';
import { MailError, type Mail, type Mailer } from '../../../shared/mail/mailer.ts';
import type { SecretStore } from '../../../shared/secrets/secret-store.ts';
import type { WorkKind, WorkRun } from '../../../shared/work-list/run-work.ts';
import { DONE, type WorkEntry, type WorkResult } from '../../../shared/work-list/work-list.ts';
import { MAIL } from './request-mail.ts';

/** Must give the same mail when it runs again. @returns undefined when the mail has become pointless, e.g. its link has expired */
export type ComposeMail = (
  customerId: number,
  mailId: string,
  request: JsonObject,
) => Promise<Mail | undefined>;

export interface SendMailsOptions {
  readonly secrets: SecretStore;
  readonly mailer: Mailer;
  readonly compose: ComposeMail;
  readonly log: Pick<Logger, 'warn'>;
}

/** Also the connections to the mail server. */
export const MAILS_AT_ONCE = 5;
/**
 * People without an account share one, so it is more than one: a mail that the server keeps for 30 s does not
 * hold back the others. Less than `MAILS_AT_ONCE`: an account's hundred invitations do not fill the process.
 */
const PER_ACCOUNT_MAX = 4;

const FIRST_MS = 15_000;
const HOUR_MS = 60 * 60_000;
/** The tries take about a day: 8 in the first hour, then one an hour. */
const ATTEMPTS_MAX = 31;

const afterMsOf = (attempt: number): number => Math.min(HOUR_MS, FIRST_MS * 2 ** (attempt - 1));

export const mails = (options: SendMailsOptions): WorkKind => ({
  name: MAIL,
  concurrency: MAILS_AT_ONCE,
  perAccountMax: PER_ACCOUNT_MAX,
  attemptsMax: ATTEMPTS_MAX,
  handle: (entry, run) => handOver(options, entry, run),
  giveUp: (entry) => endUnsent(options, entry, 'Its jobs ended without a result again and again.'),
});

const Request = z.record(z.string(), z.json());

/**
 * The request is deleted after the hand-over: a crash in between sends the mail again, with the same Message-ID. An
 * entry without a request was handed over.
 */
const handOver = async (
  options: SendMailsOptions,
  entry: WorkEntry,
  { attempt, isLastAttempt, signal }: WorkRun,
): Promise<WorkResult> => {
  const { secrets, mailer, compose } = options;
  const { customerId, key: mailId } = entry;
  try {
    const request = await secrets.get(customerId, mailId);
    if (request === undefined) return DONE;
    const mail = await compose(customerId, mailId, Request.parse(JSON.parse(request)));
    if (mail !== undefined) {
      failpoint('before-mail');
      await mailer.send(mailId, mail, signal);
      failpoint('after-mail');
    }
  } catch (error) {
    // This process ends the run, not the server. Another one tries again.
    signal.throwIfAborted();
    const reason = reasonOf(options, entry, error);
    const isFinal = error instanceof MailError && error.isFinal;
    if (isFinal || isLastAttempt) return endUnsent(options, entry, reason);
    return { is: 'again', afterMs: afterMsOf(attempt), isTry: true, reason };
  }
  await removeRequest(options, entry);
  return DONE;
};

/** The entry stays for a while, to show the reason. */
const endUnsent = async (
  options: SendMailsOptions,
  entry: WorkEntry,
  reason: string,
): Promise<WorkResult> => {
  options.log.warn({ mailId: entry.key, customerId: entry.customerId, reason }, 'a mail was given up');
  await removeRequest(options, entry);
  return { is: 'ended', reason };
};

/** Otherwise the sweep of orphan secrets deletes it. */
const removeRequest = ({ secrets }: SendMailsOptions, { customerId, key }: WorkEntry): Promise<void> =>
  secrets.remove(customerId, key).catch(() => undefined);

/** Messages of other errors may contain parts of the request. */
const reasonOf = ({ log }: SendMailsOptions, { key, customerId }: WorkEntry, error: unknown): string => {
  if (error instanceof MailError) return error.message;
  const { name, stack = '' } = error instanceof Error ? error : new Error();
  const at = stack.split('\n').filter((line) => /^ +at /.test(line));
  log.warn({ mailId: key, customerId, error: name, at }, 'a mail cannot be composed');
  return `The mail cannot be composed (${name}).`;
};
