import type { Pool } from 'pg';
import { z } from 'zod';
import { emailKeyOf } from '../../domain/accounts/address.ts';
import { END_NOTICE } from '../../domain/webhooks/endpoint-health.ts';
import { shownWebhookId } from '../../domain/webhooks/resource.ts';
import { systemClock } from '../../shared/async/clock.ts';
import type { Mail } from '../../shared/mail/mailer.ts';
import type { LinkTokenOf } from '../workers/mail/link-token.ts';
import type { ComposeMail } from '../workers/mail/send-mails.ts';
import type { FindInvitation, InvitationKey } from './invitation-rows.ts';
import type { FindLogin, UserKey } from './login-rows.ts';
import { insertLink } from './one-time-links.ts';
import { pageLink } from './page-link.ts';
import { RESET_MS } from './password-reset.ts';
import { PendingSignUp } from './sign-up.ts';

const SIGN_UP_HOURS = 24;
const HOUR_MS = 3_600_000;

const WebhookFailing = z.object({
  type: z.literal('webhook-failing'),
  userId: z.string(),
  subscriptionId: z.uuid(),
  host: z.string(),
  notice: z.int(),
});

const MailRequest = z.discriminatedUnion('type', [
  PendingSignUp.extend({ type: z.literal('sign-up') }),
  z.object({ type: z.literal('password-reset'), email: z.string() }),
  z.object({ type: z.literal('password-changed'), userId: z.string() }),
  z.object({ type: z.literal('invitation') }),
  WebhookFailing,
]);

export interface ComposeOptions {
  readonly pool: Pool;
  readonly findLogin: FindLogin;
  readonly findInvitation: FindInvitation;
  readonly linkTokenOf: LinkTokenOf;
  /** Never from a request: its `Host` is the client's. */
  readonly baseUrl: () => string;
}

/** The links are stored here, not by the request: the answer to it must not depend on the address. */
export const createComposeMail =
  (options: ComposeOptions): ComposeMail =>
  async (customerId, mailId, given) => {
    const request = MailRequest.parse(given);
    switch (request.type) {
      case 'sign-up': {
        const { type: _, ...pending } = request;
        return signUpMail(options, mailId, pending);
      }
      case 'password-reset':
        return resetMail(options, mailId, request.email);
      case 'password-changed':
        return changedMail(options, { customerId, userId: request.userId });
      case 'invitation':
        return invitationMail(options, { customerId, invitationId: mailId });
      case 'webhook-failing':
        return webhookMail(options, customerId, request);
      default:
        return request satisfies never;
    }
  };

const paragraphs = (...texts: readonly string[]): string => `${texts.join('\n\n')}\n`;

const signUpMail = async (
  options: ComposeOptions,
  mailId: string,
  pending: PendingSignUp,
): Promise<Mail | undefined> => {
  const { pool, findLogin, linkTokenOf, baseUrl } = options;
  const known = await findLogin.ofAddress(emailKeyOf(pending.email));
  if (known !== undefined) return knownMail(known.email, baseUrl());
  const token = await linkTokenOf(mailId);
  const link = {
    purpose: 'sign-up',
    customerId: 0,
    data: pending,
    validMs: SIGN_UP_HOURS * HOUR_MS,
  } as const;
  if ((await insertLink(pool, token, link)) === undefined) return undefined;
  return {
    to: pending.email,
    subject: 'Confirm your address',
    text: paragraphs(
      'You signed up for the Buyer Exchange with this address. Open this link and enter your password to open the account:',
      pageLink(options.baseUrl(), 'verify-email', token),
      `The link works once, within ${SIGN_UP_HOURS} hours. If you did not sign up, ignore this mail: no account is opened.`,
    ),
  };
};

const knownMail = (to: string, baseUrl: string): Mail => ({
  to,
  subject: 'You have an account already',
  text: paragraphs(
    'A sign-up for the Buyer Exchange used this address, which has an account already. Sign in here:',
    `${baseUrl}/console/sign-in`,
    'If you forgot the password, ask for a new one there. If it was not you, ignore this mail: nothing has changed.',
  ),
});

const resetMail = async (
  options: ComposeOptions,
  mailId: string,
  email: string,
): Promise<Mail | undefined> => {
  const { pool, findLogin, linkTokenOf } = options;
  const login = await findLogin.ofAddress(emailKeyOf(email));
  if (login?.isOpen !== true) return undefined;
  const token = await linkTokenOf(mailId);
  const { customerId, userId } = login;
  const link = { purpose: 'password-reset', customerId, userId, validMs: RESET_MS } as const;
  if ((await insertLink(pool, token, link)) === undefined) return undefined;
  return {
    to: login.email,
    subject: 'Choose a new password',
    text: paragraphs(
      'Open this link to choose a new password for the Buyer Exchange:',
      pageLink(options.baseUrl(), 'password-reset', token),
      `The link works once, within ${RESET_MS / 60_000} minutes. If you did not ask for it, ignore this mail: your password stays.`,
    ),
  };
};

const changedMail = async (
  { findLogin, baseUrl }: ComposeOptions,
  user: UserKey,
): Promise<Mail | undefined> => {
  const login = await findLogin.ofUser(user);
  if (login === undefined) return undefined;
  return {
    to: login.email,
    subject: 'Your password was changed',
    text: paragraphs(
      'The password of your user of the Buyer Exchange was changed, and other sessions of it were ended.',
      `If it was not you, ask for a new password at once: ${baseUrl()}/console/password-reset`,
    ),
  };
};

/** To an administrator. @returns undefined if the user is gone or the account is disabled */
const webhookMail = async (
  { findLogin, baseUrl }: ComposeOptions,
  customerId: number,
  { userId, subscriptionId, host, notice }: z.infer<typeof WebhookFailing>,
): Promise<Mail | undefined> => {
  const login = await findLogin.ofUser({ customerId, userId });
  if (login?.isOpen !== true) return undefined;
  const id = shownWebhookId(subscriptionId);
  const read = `${baseUrl()}/api/v2/buyer/webhook-subscriptions/${id}`;
  const isEnd = notice >= END_NOTICE;
  return {
    to: login.email,
    subject: isEnd ? 'A webhook was disabled' : 'A webhook is failing',
    text: paragraphs(
      isEnd
        ? `Deliveries of webhook subscription ${id} to ${host} failed for too long, or the endpoint answered that it is gone. The Buyer Exchange has stopped delivering to it.`
        : `No delivery of webhook subscription ${id} to ${host} has succeeded for ${notice === 1 ? 'a day' : 'three days'}. If this goes on, the Buyer Exchange stops delivering to it.`,
      `Its status is at ${read}, its attempts at ${read}/deliveries`,
      isEnd
        ? 'When the endpoint works again, set the status to active, and recover what was not delivered.'
        : 'When the endpoint works again, deliveries that wait are sent without further action.',
    ),
  };
};

const NAME_LENGTH_MAX = 80;

/** Users choose names freely, and must not add lines to a mail to another person, nor make its subject too long. */
const inLine = (name: string): string =>
  Array.from(name.replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim())
    .slice(0, NAME_LENGTH_MAX)
    .join('');

/** @returns undefined if the invitation was accepted or revoked, or has expired */
const invitationMail = async (options: ComposeOptions, key: InvitationKey): Promise<Mail | undefined> => {
  const invitation = await options.findInvitation(key);
  if (invitation === undefined || invitation.expiresAt.getTime() <= systemClock.now()) return undefined;
  const { email: to, inviter, role, expiresAt } = invitation;
  const company = inLine(invitation.company);
  const token = await options.linkTokenOf(key.invitationId);
  return {
    to,
    subject: `Join ${company} on the Buyer Exchange`,
    text: paragraphs(
      `${inLine(inviter ?? 'The operator')} invites you to the account "${company}" on the Buyer Exchange, as ${role}. Open this link to choose a password:`,
      pageLink(options.baseUrl(), 'invitation', token),
      `The link works once, until ${expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC. If you do not expect it, ignore this mail: no user is added.`,
    ),
  };
};
