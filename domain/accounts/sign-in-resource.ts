import { z } from 'zod';
import { Timestamp } from '../values.ts';
import { Role } from './access.ts';
import { SignInMethod } from './session-events.ts';

/** The cookie of the answer is the credential. */
export const SignedIn = z.object({ userId: z.string(), customerId: z.int() }).meta({ id: 'SignedIn' });

/** Says nothing about whether the address is known. */
export const CheckMail = z.object({ status: z.literal('check-mail') }).meta({ id: 'CheckMail' });

export const ResetTicket = z
  .object({
    ticket: z.string().meta({ description: 'For one reset of the password. Shown only here.' }),
    expiresAt: Timestamp,
  })
  .meta({ id: 'ResetTicket' });

export const ResetDone = z.object({ status: z.literal('done') }).meta({ id: 'ResetDone' });

export const CurrentUser = z
  .object({
    id: z.string(),
    name: z.string(),
    email: z.string(),
    emailVerified: z.boolean(),
    role: Role,
    totp: z.object({
      enabled: z.boolean(),
      lookupCodesLeft: z.int().meta({ description: 'Codes that replace the authenticator, once each.' }),
    }),
  })
  .meta({ id: 'CurrentUser' });

export const SessionResource = z
  .object({
    id: z.uuid(),
    isCurrent: z.boolean().meta({ description: 'True for the session of this request.' }),
    method: SignInMethod,
    createdAt: Timestamp,
    lastSeenAt: Timestamp.meta({ description: 'At most about a minute late.' }),
    endsAt: Timestamp.meta({ description: 'Earlier after 12 hours without a request.' }),
    addressPrefix: z.string().meta({ description: 'Network of the client that signed in.' }),
    agent: z.string().optional().meta({ description: 'The browser, as it named itself.' }),
  })
  .meta({ id: 'Session' });

export const TotpSeed = z
  .object({
    secret: z.string().meta({ description: 'Base32. Shown only here.' }),
    otpauthUri: z.string().meta({ description: 'For a QR code.' }),
  })
  .meta({ id: 'TotpSeed' });

export const LookupCodes = z
  .object({
    lookupCodes: z.array(z.string()).length(10).meta({ description: 'Shown only here. Each works once.' }),
  })
  .meta({ id: 'LookupCodes' });
