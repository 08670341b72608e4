import type { Logger } from 'pino';
import type { Sender } from './mail-address.ts';
import type { Mailer } from './mailer.ts';
import type { SmtpServer } from './smtp-server.ts';

export interface MailerOptions {
  /** Absent: mails become files. */
  readonly server: SmtpServer | undefined;
  readonly from: Sender;
  readonly outboxFolder: string;
  readonly connectionsMax: number;
  readonly log: Logger;
}

/** The packages for mail are loaded for the first mail. */
export const openMailer = ({ server, from, outboxFolder, connectionsMax, log }: MailerOptions): Mailer => {
  let opened: Promise<Mailer> | undefined;
  const open = async (): Promise<Mailer> =>
    server === undefined
      ? (await import('./outbox.ts')).createOutbox(outboxFolder, from, log)
      : (await import('./smtp.ts')).createSmtpMailer(server, from, connectionsMax);
  return {
    kind: server === undefined ? 'outbox' : 'smtp',
    send: async (...mail) => (await (opened ??= open())).send(...mail),
    close: async () => (await opened)?.close(),
  };
};
