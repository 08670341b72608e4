import { z } from 'zod';
import { ConfirmTotpBody, DisableTotpBody, StartTotpBody } from '../../domain/accounts/sign-in-input.ts';
import { LookupCodes, TotpSeed } from '../../domain/accounts/sign-in-resource.ts';
import { notFound } from '../../shared/http/errors.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { pathTextId } from '../../shared/http/schemas.ts';
import { sessionOf } from './session-of.ts';
import { endSession, endSessionsOfUser, methodOfSession } from './session-rows.ts';
import { recordEnds, type SessionWrites } from './sessions.ts';
import { confirmTotp, disableTotp, startTotp, type TwoFactorWrites } from './two-factor.ts';

const sessions = '/api/v2/accounts/current/sessions';
const totp = '/api/v2/accounts/current/user/totp';
const own = { tag: 'Sign-in', access: 'session' } as const;
const secret = { ...own, limit: 'auth', bodyIsSecret: true, answerIsSecret: true } as const;

export const sessionWriteRoutes = (writes: TwoFactorWrites): readonly Route[] => [
  endRoute(writes),
  endOthersRoute(writes),
  ...totpRoutes(writes),
];

const endRoute = ({ store, pool }: SessionWrites): Route =>
  route({
    ...own,
    method: 'delete',
    path: `${sessions}/{id}`,
    operationId: 'endSession',
    summary: 'End one of your sessions: it is refused on its next request. Repeating changes nothing.',
    params: z.object({ id: pathTextId('session') }),
    responses: { 204: { description: 'Ended' } },
    handle: async ({ params: { id: sessionId }, request }) => {
      const { user, context } = sessionOf(request);
      if (!z.uuid().safeParse(sessionId).success) throw notFound('session');
      const isOwn = (await methodOfSession(pool, user, sessionId)) !== undefined;
      if (!isOwn) throw notFound('session');
      await recordEnds({ store, pool }, await endSession(pool, user, sessionId, 'ended'), context);
      return { status: 204 };
    },
  });

const endOthersRoute = ({ store, pool }: SessionWrites): Route =>
  route({
    ...own,
    method: 'delete',
    path: sessions,
    operationId: 'endOtherSessions',
    summary: 'End all your sessions but that of the request.',
    responses: { 204: { description: 'Ended' } },
    handle: async ({ request }) => {
      const { user, sessionId, context } = sessionOf(request);
      await recordEnds({ store, pool }, await endSessionsOfUser(pool, user, 'ended', sessionId), context);
      return { status: 204 };
    },
  });

const totpRoutes = (writes: TwoFactorWrites): readonly Route[] => [
  route({
    ...secret,
    method: 'post',
    path: totp,
    operationId: 'startTotp',
    summary:
      'Get the seed of a second factor for an authenticator app. It has no effect before it is confirmed.',
    body: StartTotpBody,
    responses: { 201: { description: 'The seed', data: TotpSeed } },
    handle: async ({ body, request }) => ({
      status: 201,
      data: await startTotp(writes, body.password, request),
    }),
  }),
  route({
    ...secret,
    method: 'post',
    path: `${totp}/confirm`,
    operationId: 'confirmTotp',
    summary: 'Turn the second factor on with its first code. The lookup codes are shown only in this answer.',
    body: ConfirmTotpBody,
    responses: { 200: { description: 'The second factor is on', data: LookupCodes } },
    handle: async ({ body, request }) => {
      const { lookupCodes, headers } = await confirmTotp(writes, body.code, request);
      return { status: 200, data: { lookupCodes }, headers };
    },
  }),
  route({
    ...secret,
    method: 'post',
    path: `${totp}/disable`,
    operationId: 'disableTotp',
    summary: 'Turn the second factor off.',
    body: DisableTotpBody,
    responses: { 204: { description: 'The second factor is off' } },
    handle: async ({ body, request }) => ({ status: 204, headers: await disableTotp(writes, body, request) }),
  }),
];
