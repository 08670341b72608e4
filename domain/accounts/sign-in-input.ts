import { z } from 'zod';
import { boundedText } from '../values.ts';
import { EmailAddress } from './address.ts';
import { NewPassword, PresentedPassword } from './password.ts';

/** 256 bits as base64url. A token of another form is refused like any wrong one. */
const token = (what: string) => boundedText(1, 200).meta({ description: what, writeOnly: true });

const code = boundedText(1, 40).meta({
  description: 'Six digits of the authenticator, or a lookup code. Needed by users with a second factor.',
  writeOnly: true,
});

export const SignUpBody = z
  .object({ email: EmailAddress, password: NewPassword, company: boundedText(1, 120) })
  .meta({ id: 'SignUp' });
export type SignUpBody = z.infer<typeof SignUpBody>;

export const VerifyEmailBody = z
  .object({
    token: token('From the link in the mail.'),
    password: PresentedPassword.meta({ description: 'The one of the sign-up.', writeOnly: true }),
  })
  .meta({ id: 'VerifyEmail' });
export type VerifyEmailBody = z.infer<typeof VerifyEmailBody>;

export const SignInBody = z
  .object({ email: EmailAddress, password: PresentedPassword, code: code.optional() })
  .meta({ id: 'SignIn' });
export type SignInBody = z.infer<typeof SignInBody>;

export const ResetRequestBody = z.object({ email: EmailAddress }).meta({ id: 'RequestPasswordReset' });

export const ResetVerifyBody = z
  .object({ token: token('From the link in the mail.') })
  .meta({ id: 'VerifyPasswordReset' });

export const ResetBody = z
  .object({
    ticket: token('From the verification of the link.'),
    password: NewPassword,
    code: code.optional(),
  })
  .meta({ id: 'ResetPassword' });
export type ResetBody = z.infer<typeof ResetBody>;

export const ChangePasswordBody = z
  .object({ currentPassword: PresentedPassword, newPassword: NewPassword })
  .meta({ id: 'ChangePassword' });
export type ChangePasswordBody = z.infer<typeof ChangePasswordBody>;

export const SetUpBody = z
  .object({
    token: token("From the operator's link."),
    email: EmailAddress,
    password: NewPassword,
    code: code.optional(),
  })
  .meta({ id: 'SetUp' });
export type SetUpBody = z.infer<typeof SetUpBody>;

export const AcceptInvitationBody = z
  .object({
    token: token('From the link of the invitation.'),
    name: boundedText(1, 200),
    password: NewPassword,
  })
  .meta({ id: 'AcceptInvitation' });
export type AcceptInvitationBody = z.infer<typeof AcceptInvitationBody>;

export const StartTotpBody = z.object({ password: PresentedPassword }).meta({ id: 'StartTotp' });

export const ConfirmTotpBody = z
  .object({
    code: z
      .string()
      .regex(/^\d{6}$/, 'must be six digits')
      .meta({ writeOnly: true }),
  })
  .meta({ id: 'ConfirmTotp' });

export const DisableTotpBody = z.object({ password: PresentedPassword, code }).meta({ id: 'DisableTotp' });
