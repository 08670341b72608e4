import { z } from 'zod';
import { MemberResource } from '../../domain/accounts/resource.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { pageOf, pagingParameters } from '../../shared/http/schemas.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { isoColumn, withoutNulls, type Nullable } from './list.ts';

/** Selects from `users u`. The address is joined from where it can be deleted. */
const member = `json_build_object('id', u.user_id, 'name', u.name, 'role', u.role,
  'email', (select a.email from user_addresses a where a.customer_id = u.customer_id and a.user_id = u.user_id),
  'lastSignInAt', (select ${isoColumn('max(s.created_at)')} from sessions s
    where s.customer_id = u.customer_id and s.user_id = u.user_id),
  'createdAt', ${isoColumn('u.created_at')})`;

export const membersListRoute = (database: TenantDatabase): Route =>
  route({
    method: 'get',
    path: '/api/v2/accounts/current/members',
    operationId: 'listMembers',
    summary: 'Users of the account, newest first',
    tag: 'Accounts',
    access: 'exchange:read',
    query: z.object(pagingParameters(200)),
    responses: { 200: { description: 'One page', data: z.array(MemberResource), paginated: true } },
    handle: async ({ query, request }) => {
      const { skip, take } = pageOf(query);
      const { members, total } = await listMembers(database, request.principal.customerId, { skip, take });
      const pagination = { skip, take, total, hasMore: skip + members.length < total };
      return { status: 200, data: members, pagination };
    },
  });

interface MemberPage {
  readonly members: readonly MemberResource[];
  readonly total: number;
}

/** Commands write these rows before they answer, so no read waits. */
export const listMembers = async (
  database: TenantDatabase,
  customerId: number,
  { skip, take }: { readonly skip: number; readonly take: number },
): Promise<MemberPage> => {
  const [row] = await database.query<{ total: number; members: readonly Nullable<MemberResource>[] }>(
    customerId,
    {
      name: 'list-members',
      text: `select (select count(*)::float8 from users where customer_id = $1 and role is not null) as total,
               (select coalesce(json_agg(${member} order by u.created_at desc, u.user_id desc), '[]')
                from (select customer_id, user_id, name, role, created_at from users
                  where customer_id = $1 and role is not null
                  order by created_at desc, user_id desc limit $2::bigint offset $3::bigint) u) as members`,
      values: [customerId, take, skip],
    },
  );
  const members = (row?.members ?? []).map((one) => withoutNulls<MemberResource>(one));
  return { members, total: row?.total ?? 0 };
};

export const findMember = async (
  database: TenantDatabase,
  customerId: number,
  userId: string,
): Promise<MemberResource | undefined> => {
  const [row] = await database.query<{ member: Nullable<MemberResource> }>(customerId, {
    name: 'find-member',
    text: `select ${member} as member from users u
           where u.customer_id = $1 and u.user_id = $2 and u.role is not null`,
    values: [customerId, userId],
  });
  return row && withoutNulls<MemberResource>(row.member);
};
