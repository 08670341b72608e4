import type { Pool } from 'pg';
import { z } from 'zod';
import { SESSION_IDLE_HOURS } from '../../domain/accounts/session.ts';
import { CurrentUser, SessionResource } from '../../domain/accounts/sign-in-resource.ts';
import { notFound } from '../../shared/http/errors.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { pageOf, pagingParameters } from '../../shared/http/schemas.ts';
import { isoTimestampSql } from '../../shared/postgres/build-statement.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';

export const sessionsPath = '/api/v2/accounts/current/sessions';

const own = { method: 'get', tag: 'Sign-in', access: 'session' } as const;

/** @param pool requests cannot read `logins` */
export const sessionReadRoutes = (database: TenantDatabase, pool: Pick<Pool, 'query'>): readonly Route[] => [
  currentUserRoute(pool),
  sessionsRoute(database),
];

interface UserRow {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly role: string;
  readonly totp: { readonly enabled: boolean; readonly lookupCodesLeft: number };
}

const currentUserRoute = (pool: Pick<Pool, 'query'>): Route =>
  route({
    ...own,
    path: '/api/v2/accounts/current/user',
    operationId: 'getCurrentUser',
    summary: 'The signed-in user',
    responses: { 200: { description: 'The user', data: CurrentUser } },
    handle: async ({ request }) => {
      const { customerId, user } = request.principal;
      const { rows } = await pool.query<UserRow>({
        name: 'current-user',
        text: `select u.user_id as id, u.name, a.email, a.verified_at is not null as "emailVerified", u.role,
                 json_build_object('enabled', l.totp_secret_id is not null,
                   'lookupCodesLeft', cardinality(l.lookup_codes)) as totp
               from users u
               join user_addresses a on a.customer_id = u.customer_id and a.user_id = u.user_id
               join logins l on l.customer_id = u.customer_id and l.user_id = u.user_id
               where u.customer_id = $1 and u.user_id = $2`,
        values: [customerId, user?.id],
      });
      const [data] = rows;
      if (data === undefined) throw notFound('user');
      return { status: 200, data };
    },
  });

type ListedSession = z.infer<typeof SessionResource>;

const sessionsRoute = (database: TenantDatabase): Route =>
  route({
    ...own,
    path: sessionsPath,
    operationId: 'listSessions',
    summary: 'Your sessions, newest first',
    query: z.object(pagingParameters(200)),
    responses: { 200: { description: 'One page', data: z.array(SessionResource), paginated: true } },
    handle: async ({ query, request }) => {
      const { skip, take } = pageOf(query);
      const { customerId, user, actor } = request.principal;
      const [row] = await database.query<{ total: number; sessions: readonly ListedSession[] }>(customerId, {
        name: 'list-sessions',
        text: `with live as (
                 select session_id, method, created_at, last_seen_at, ends_at, address_prefix, agent from sessions
                 where customer_id = $1 and user_id = $2 and ended_at is null and ends_at > clock_timestamp()
                   and last_seen_at > clock_timestamp() - interval '${SESSION_IDLE_HOURS} hours'
               )
               select (select count(*)::float8 from live) as total,
                 (select coalesce(json_agg(json_strip_nulls(json_build_object('id', session_id,
                    'isCurrent', session_id = $3, 'method', method, 'createdAt', ${isoTimestampSql('created_at')},
                    'lastSeenAt', ${isoTimestampSql('last_seen_at')}, 'endsAt', ${isoTimestampSql('ends_at')},
                    'addressPrefix', address_prefix, 'agent', agent))
                    order by created_at desc, session_id desc), '[]')
                  from (select * from live order by created_at desc, session_id desc
                    limit $4::bigint offset $5::bigint) page) as sessions`,
        values: [customerId, user?.id, actor.slice('session:'.length), take, skip],
      });
      const { total, sessions } = row ?? { total: 0, sessions: [] };
      const pagination = { skip, take, total, hasMore: skip + sessions.length < total };
      return { status: 200, data: sessions, pagination };
    },
  });
