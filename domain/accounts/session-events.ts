import { z } from 'zod';
import type { EventsOf } from '../decision.ts';

export const SignInMethod = z.enum([
  'password',
  'password-and-totp',
  'password-and-lookup-code',
  'sign-up',
  'invitation',
  'link',
]);
export type SignInMethod = z.infer<typeof SignInMethod>;

/** `replaced`: the same browser signed in again. */
export const SessionEndReason = z.enum([
  'signed-out',
  'ended',
  'password-changed',
  'password-reset',
  'removed',
  'disabled',
  'too-many',
  'replaced',
]);
export type SessionEndReason = z.infer<typeof SessionEndReason>;

/** Without the secret, the client's address and the browser. No event is recorded when a session's time is over. */
const SessionStarted = z.object({ sessionId: z.string(), userId: z.string(), method: SignInMethod });

const SessionEnded = z.object({ reason: SessionEndReason });

export const sessionEvents = {
  SessionStarted: { schemaVersion: 1, data: SessionStarted },
  // Version 2 adds the reason `replaced`.
  SessionEnded: { schemaVersion: 2, data: SessionEnded, upcasters: [<Data>(data: Data): Data => data] },
} as const;

export type SessionEvent = EventsOf<typeof sessionEvents>;
