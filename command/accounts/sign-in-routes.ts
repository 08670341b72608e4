import {
  SignedIn as SignedInResource,
  CheckMail,
  ResetDone,
  ResetTicket,
} from '../../domain/accounts/sign-in-resource.ts';
import {
  ChangePasswordBody,
  ResetBody,
  ResetRequestBody,
  ResetVerifyBody,
  SetUpBody,
  SignInBody,
  SignUpBody,
  VerifyEmailBody,
} from '../../domain/accounts/sign-in-input.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { changePassword } from './change-password.ts';
import { requestReset, resetPassword, verifyReset, type ResetWrites } from './password-reset.ts';
import { endSession } from './session-rows.ts';
import { sessionOf } from './session-of.ts';
import { clearedCookie, recordEnds } from './sessions.ts';
import { setUp } from './set-up.ts';
import { signIn } from './sign-in.ts';
import { requestSignUp, signUp, verifyEmail, type SignUpWrites } from './sign-up.ts';

export interface SignInRouteWrites extends SignUpWrites, ResetWrites {
  readonly nextCustomerId: () => Promise<number>;
  /** A sign-up opens its account from a mail. */
  readonly verifiesAddresses: boolean;
}

const open = {
  tag: 'Sign-in',
  access: 'public',
  firstParty: true,
  bodyIsSecret: true,
  answerIsSecret: true,
} as const;
const own = { tag: 'Sign-in', access: 'session', bodyIsSecret: true, answerIsSecret: true } as const;

const signedIn = { description: 'Signed in: the cookie is the credential', data: SignedInResource };
const checkMail = { description: 'A mail says how to continue', data: CheckMail };

export const signInRoutes = (writes: SignInRouteWrites): readonly Route[] => [
  ...signUpRoutes(writes),
  signInRoute(writes),
  signOutRoute(writes),
  ...resetRoutes(writes),
  passwordRoute(writes),
  setUpRoute(writes),
];

const signUpRoutes = (writes: SignInRouteWrites): readonly Route[] => [
  route({
    ...open,
    method: 'post',
    path: '/auth/signup',
    operationId: 'signUp',
    description:
      'If the service sends mail, the answer is always 202, and the account opens with the link of ' +
      'the mail (`/auth/verify-email`). Otherwise it is 201 with a session cookie. A taken address ' +
      'is 202 without a word of it.',
    summary:
      'Open an account. If addresses are verified, or the address is taken, a mail says how to continue.',
    limit: 'signUp',
    body: SignUpBody,
    ...(writes.verifiesAddresses ? {} : { reserves: { customerId: writes.nextCustomerId } }),
    responses: { 201: signedIn, 202: checkMail },
    handle: async ({ body, request }) => {
      const { customerId } = request.reserved;
      const opened =
        customerId === undefined
          ? await requestSignUp(writes, body, request)
          : await signUp(writes, customerId, body, request);
      return opened === undefined
        ? { status: 202, data: { status: 'check-mail' } }
        : { status: 201, ...opened };
    },
  }),
  route({
    ...open,
    method: 'post',
    path: '/auth/verify-email',
    operationId: 'verifyEmail',
    alsoRefuses: ['UNAUTHORIZED'],
    summary: 'Open the account of a sign-up with the link of its mail, and sign in.',
    limit: 'signUp',
    body: VerifyEmailBody,
    reserves: { customerId: writes.nextCustomerId },
    responses: { 201: signedIn },
    handle: async ({ body, request }) => ({
      status: 201,
      ...(await verifyEmail(writes, request.reserved['customerId'] ?? 0, body, request)),
    }),
  }),
];

const signInRoute = (writes: SignInRouteWrites): Route =>
  route({
    ...open,
    method: 'post',
    path: '/auth/sign-in',
    operationId: 'signIn',
    alsoRefuses: ['UNAUTHORIZED'],
    summary: 'Sign in with address and password. `details.reason` `code-required`: with a code, too.',
    limit: 'auth',
    body: SignInBody,
    responses: { 200: signedIn },
    handle: async ({ body, request }) => ({ status: 200, ...(await signIn(writes, body, request)) }),
  });

const signOutRoute = ({ store, pool }: SignInRouteWrites): Route =>
  route({
    ...own,
    method: 'post',
    path: '/auth/sign-out',
    operationId: 'signOut',
    summary: 'End the session of the request.',
    limit: 'auth',
    responses: { 204: { description: 'Signed out' } },
    handle: async ({ request }) => {
      const { user, sessionId, context } = sessionOf(request);
      await recordEnds({ store, pool }, await endSession(pool, user, sessionId, 'signed-out'), context);
      return { status: 204, headers: clearedCookie };
    },
  });

const resetRoutes = (writes: SignInRouteWrites): readonly Route[] => [
  route({
    ...open,
    method: 'post',
    path: '/auth/password-reset/request',
    operationId: 'requestPasswordReset',
    summary:
      'Ask for a mail with a link to a new password. The answer does not say whether the address is known.',
    limit: 'passwordReset',
    body: ResetRequestBody,
    responses: { 202: checkMail },
    handle: async ({ body, request }) => {
      await requestReset(writes, body.email, request);
      return { status: 202, data: { status: 'check-mail' } };
    },
  }),
  route({
    ...open,
    method: 'post',
    path: '/auth/password-reset/verify',
    operationId: 'verifyPasswordReset',
    summary: 'Exchange the token of the link for a ticket, once.',
    limit: 'passwordReset',
    body: ResetVerifyBody,
    responses: { 200: { description: 'The ticket', data: ResetTicket } },
    handle: async ({ body, request }) => ({
      status: 200,
      data: await verifyReset(writes, body.token, request),
    }),
  }),
  route({
    ...open,
    method: 'post',
    path: '/auth/password-reset/reset',
    operationId: 'resetPassword',
    alsoRefuses: ['UNAUTHORIZED'],
    summary: 'Set a new password with the ticket. Ends all sessions of the user, and does not sign in.',
    limit: 'passwordReset',
    body: ResetBody,
    responses: { 200: { description: 'The new password is set', data: ResetDone } },
    handle: async ({ body, request }) => {
      await resetPassword(writes, body, request);
      return { status: 200, data: { status: 'done' } };
    },
  }),
];

const passwordRoute = (writes: SignInRouteWrites): Route =>
  route({
    ...own,
    method: 'post',
    path: '/auth/password',
    operationId: 'changePassword',
    summary: 'Change the password. Ends the other sessions of the user; this one gets a new cookie.',
    limit: 'auth',
    body: ChangePasswordBody,
    responses: { 204: { description: 'Changed' } },
    handle: async ({ body, request }) => ({
      status: 204,
      headers: await changePassword(writes, body, request),
    }),
  });

const setUpRoute = (writes: SignInRouteWrites): Route =>
  route({
    ...open,
    method: 'post',
    path: '/auth/set-up',
    operationId: 'setUp',
    summary: "Set a password with an operator's link, and sign in.",
    limit: 'auth',
    body: SetUpBody,
    responses: { 201: signedIn },
    handle: async ({ body, request }) => ({ status: 201, ...(await setUp(writes, body, request)) }),
  });
