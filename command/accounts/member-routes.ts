import { z } from 'zod';
import { ChangeRoleBody } from '../../domain/accounts/input.ts';
import { MemberResource } from '../../domain/accounts/resource.ts';
import { ofRequest } from '../../shared/aggregate/handler-for.ts';
import { notFound } from '../../shared/http/errors.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { boundedText } from '../../domain/values.ts';
import { changeRole, removeMember, type MemberWrites } from './members.ts';

const path = '/api/v2/accounts/current/members/{userId}';
const write = {
  tag: 'Accounts',
  access: 'exchange:admin',
  path,
  params: z.object({ userId: boundedText(1, 100).meta({ description: 'Id of the user.' }) }),
} as const;

interface MemberRouteWrites extends MemberWrites {
  readonly findMember: (customerId: number, userId: string) => Promise<MemberResource | undefined>;
}

export const memberWriteRoutes = (writes: MemberRouteWrites): readonly Route[] => [
  changeRoleRoute(writes),
  removeRoute(writes),
];

const changeRoleRoute = (writes: MemberRouteWrites): Route =>
  route({
    ...write,
    method: 'put',
    operationId: 'changeMemberRole',
    summary: 'Change the role of a user. It holds from the next request of each credential of the user on.',
    body: ChangeRoleBody,
    // Contains the address, which must be nowhere once the user is removed.
    answerIsSecret: true,
    responses: { 200: { description: 'The member', data: MemberResource } },
    handle: async ({ params: { userId }, body: { role }, request }) => {
      await changeRole(writes, { userId, role }, ofRequest(request).context);
      const member = await writes.findMember(request.principal.customerId, userId);
      // Another request has removed the user since.
      if (member === undefined) throw notFound('member');
      return { status: 200, data: { ...member, role } };
    },
  });

const removeRoute = (writes: MemberWrites): Route =>
  route({
    ...write,
    method: 'delete',
    operationId: 'removeMember',
    summary:
      'Remove a user: API keys and sessions end, and the address is deleted. The last admin cannot be removed.',
    responses: { 204: { description: 'Removed' } },
    handle: async ({ params: { userId }, request }) => {
      await removeMember(writes, userId, ofRequest(request).context);
      return { status: 204 };
    },
  });
