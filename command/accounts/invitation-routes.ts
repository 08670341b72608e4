import { z } from 'zod';
import { InviteBody } from '../../domain/accounts/input.ts';
import { InvitationResource } from '../../domain/accounts/resource.ts';
import { AcceptInvitationBody } from '../../domain/accounts/sign-in-input.ts';
import { SignedIn } from '../../domain/accounts/sign-in-resource.ts';
import { boundedText } from '../../domain/values.ts';
import { ofRequest } from '../../shared/aggregate/handler-for.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { acceptInvitation, type AcceptWrites } from './accept-invitation.ts';
import { userOf } from './handler.ts';
import { invite, revokeInvitation, type InvitationWrites } from './invitations.ts';

const path = '/api/v2/accounts/current/invitations';
const write = { tag: 'Accounts', access: 'exchange:admin' } as const;

export const invitationWriteRoutes = (writes: InvitationWrites & AcceptWrites): readonly Route[] => [
  inviteRoute(writes),
  revokeRoute(writes),
  acceptRoute(writes),
];

const inviteRoute = (writes: InvitationWrites): Route =>
  route({
    ...write,
    method: 'post',
    path,
    operationId: 'inviteUser',
    summary:
      'Invite a person by mail. The link works once, within 7 days; at most 100 invitations are open, 100 are sent in a day, and one in an hour to the same address.',
    body: InviteBody,
    bodyIsSecret: true,
    // Contains the address, which must be nowhere once the person is forgotten.
    answerIsSecret: true,
    responses: { 201: { description: 'The invitation', data: InvitationResource } },
    handle: async ({ body, request }) => {
      const invited = { ...body, invitedBy: userOf(request).id };
      const { invitation } = await invite(writes, invited, ofRequest(request).context);
      return { status: 201, data: invitation };
    },
  });

const revokeRoute = (writes: InvitationWrites): Route =>
  route({
    ...write,
    method: 'delete',
    path: `${path}/{id}`,
    operationId: 'revokeInvitation',
    summary: 'Revoke an open invitation: its link is refused from then on.',
    params: z.object({ id: boundedText(1, 100).meta({ description: 'Id of the invitation.' }) }),
    responses: { 204: { description: 'Revoked' } },
    handle: async ({ params: { id }, request }) => {
      await revokeInvitation(writes, id, ofRequest(request).context);
      return { status: 204 };
    },
  });

const acceptRoute = (writes: AcceptWrites): Route =>
  route({
    tag: 'Sign-in',
    access: 'public',
    firstParty: true,
    bodyIsSecret: true,
    answerIsSecret: true,
    method: 'post',
    path: '/auth/invitations/accept',
    operationId: 'acceptInvitation',
    summary: 'Become a user of the account with the link of an invitation, and sign in.',
    limit: 'auth',
    body: AcceptInvitationBody,
    responses: { 201: { description: 'Signed in: the cookie is the credential', data: SignedIn } },
    handle: async ({ body, request }) => ({
      status: 201,
      ...(await acceptInvitation(writes, body, request)),
    }),
  });
