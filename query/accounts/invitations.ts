import { z } from 'zod';
import { InvitationResource } from '../../domain/accounts/resource.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { pageOf, pagingParameters } from '../../shared/http/schemas.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { isoColumn } from './list.ts';

export const invitationsListRoute = (database: TenantDatabase): Route =>
  route({
    method: 'get',
    path: '/api/v2/accounts/current/invitations',
    operationId: 'listInvitations',
    summary: 'Open invitations, newest first; expired ones for 7 days',
    tag: 'Accounts',
    access: 'exchange:admin',
    query: z.object(pagingParameters(200)),
    responses: { 200: { description: 'One page', data: z.array(InvitationResource), paginated: true } },
    handle: async ({ query, request }) => {
      const { skip, take } = pageOf(query);
      const [row] = await database.query<{ total: number; invitations: readonly InvitationResource[] }>(
        request.principal.customerId,
        {
          name: 'list-invitations',
          text: `select (select count(*)::float8 from invitations where customer_id = $1 and announced) as total,
                   (select coalesce(json_agg(json_build_object('id', invitation_id, 'email', email, 'role', role,
                      'status', case when expires_at <= clock_timestamp() then 'EXPIRED' else 'OPEN' end,
                      'expiresAt', ${isoColumn('expires_at')}, 'createdAt', ${isoColumn('created_at')})
                      order by created_at desc, invitation_id desc), '[]')
                    from (select invitation_id, email, role, expires_at, created_at from invitations
                      where customer_id = $1 and announced
                      order by created_at desc, invitation_id desc limit $2::bigint offset $3::bigint) page)
                   as invitations`,
          values: [request.principal.customerId, take, skip],
        },
      );
      const { invitations, total } = row ?? { invitations: [], total: 0 };
      const pagination = { skip, take, total, hasMore: skip + invitations.length < total };
      return { status: 200, data: invitations, pagination };
    },
  });
