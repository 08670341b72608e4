import { z } from 'zod';
import { ConnectedApp } from '../../domain/accounts/connected-app.ts';
import { ApiKeyResource, CurrentAccount } from '../../domain/accounts/resource.ts';
import { notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Route } from '../../shared/http/route.ts';
import { pageOf, pagingParameters } from '../../shared/http/schemas.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { invitationsListRoute } from './invitations.ts';
import { listConnectedApps } from './connected-apps.ts';
import { listApiKeys, withoutNulls, type Nullable } from './list.ts';
import { membersListRoute } from './members.ts';

export const accountReadRoutes = (database: TenantDatabase): readonly Route[] => [
  currentRoute(database),
  listRoute(database),
  membersListRoute(database),
  invitationsListRoute(database),
  connectedAppsRoute(database),
];

type FoundAccount = Nullable<Omit<z.infer<typeof CurrentAccount>, 'id'>>;

const currentRoute = (database: TenantDatabase): Route =>
  route({
    method: 'get',
    path: '/api/v2/accounts/current',
    operationId: 'getCurrentAccount',
    summary: 'The account of the credential, and the role of its user',
    tag: 'Accounts',
    access: 'exchange:read',
    responses: { 200: { description: 'The account', data: CurrentAccount } },
    handle: async ({ request }) => {
      const { customerId, user } = request.principal;
      const [found] = await database.query<FoundAccount>(customerId, {
        name: 'current-account',
        text: `select a.name as company, a.domain as "customerDomain", u.name, u.role from accounts a
               join users u on u.customer_id = a.customer_id and u.user_id = $2 and u.role is not null
               where a.customer_id = $1`,
        values: [customerId, user?.id],
      });
      if (found === undefined) throw notFound('account');
      return { status: 200, data: { id: customerId, ...withoutNulls(found) } };
    },
  });

export const apiKeyList = declaration({
  method: 'get',
  path: '/api/v2/buyer/api-keys',
  operationId: 'listApiKeys',
  summary: 'API keys of the account, newest first; masked',
  tag: 'API keys',
  access: 'exchange:admin',
  query: z.object(pagingParameters(200)),
});

const listRoute = (database: TenantDatabase): Route =>
  route({
    ...apiKeyList,
    responses: { 200: { description: 'One page', data: z.array(ApiKeyResource), paginated: true } },
    handle: async ({ query, request }) => {
      const { skip, take } = pageOf(query);
      const { keys, total } = await listApiKeys(database, request.principal.customerId, { skip, take });
      const pagination = { skip, take, total, hasMore: skip + keys.length < total };
      return { status: 200, data: keys, pagination };
    },
  });

export const connectedApps = '/api/v2/accounts/current/connected-apps';

const connectedAppsRoute = (database: TenantDatabase): Route =>
  route({
    method: 'get',
    path: connectedApps,
    operationId: 'listConnectedApps',
    summary:
      'OAuth clients that may act for the user of the credential; with the scope exchange:admin, for any user. Newest first',
    tag: 'Accounts',
    access: 'exchange:read',
    otherAccess: 'exchange:review',
    query: z.object(pagingParameters(200)),
    responses: { 200: { description: 'One page', data: z.array(ConnectedApp), paginated: true } },
    handle: async ({ query, request }) => {
      const { customerId, scopes, user } = request.principal;
      const { skip, take } = pageOf(query);
      const userId = scopes.includes('exchange:admin') ? undefined : (user?.id ?? '');
      const { apps, total } = await listConnectedApps(database, customerId, userId, { skip, take });
      const pagination = { skip, take, total, hasMore: skip + apps.length < total };
      return { status: 200, data: apps, pagination };
    },
  });
