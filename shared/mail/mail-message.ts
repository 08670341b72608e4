import type { SendMailOptions } from 'nodemailer';
import { hostOf, isMailAddress, type Sender } from './mail-address.ts';
import { MailError, type Mail } from './mailer.ts';

/** In characters. */
const SUBJECT_LENGTH_MAX = 200;

/** What both adapters send. @throws MailError if an address or the subject could add a header or a recipient */
export const mailMessage = (from: Sender, id: string, { to, subject, text }: Mail): SendMailOptions => {
  if (!isMailAddress(to)) throw new MailError('The address cannot receive mail.', { isFinal: true });
  if (/\p{Cc}/u.test(subject) || subject.length > SUBJECT_LENGTH_MAX) {
    throw new MailError('The subject is not one short line.', { isFinal: true });
  }
  return {
    from: { ...from },
    to: { name: '', address: to },
    // Nodemailer passes encoded words (RFC 2047) through, and mail programs would decode them.
    subject: subject.replaceAll('=?', '= ?'),
    text,
    messageId: `<${id}@${hostOf(from.address)}>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
};
