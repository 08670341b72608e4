import type { Pool } from 'pg';
import { BrowserOriginResource } from '../../domain/accounts/resource.ts';
import { z } from 'zod';
import type { BrowserOrigins } from '../../shared/http/cors.ts';
import { route, type Route } from '../../shared/http/route.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { isoColumn, withoutNulls, type Nullable } from './list.ts';

/**
 * Caches nothing: a removed origin is refused on the next request on every node.
 * @param pool of the installation: a preflight names no account
 */
export const createBrowserOrigins = (pool: Pick<Pool, 'query'>): BrowserOrigins => ({
  isRegistered: async (origin) => {
    const { rows } = await pool.query<{ found: boolean }>({
      name: 'browser-origin-of-any',
      text: `select exists (select from browser_origins where origin = $1 and removed_at is null) as found`,
      values: [origin],
    });
    return rows[0]?.found === true;
  },
  isOfAccount: async (customerId, origin) => {
    const { rows } = await pool.query<{ found: boolean }>({
      name: 'browser-origin-of-account',
      text: `select exists (select from browser_origins
               where origin = $1 and customer_id = $2 and removed_at is null) as found`,
      values: [origin, customerId],
    });
    return rows[0]?.found === true;
  },
});

export const browserOriginReadRoutes = (database: TenantDatabase): readonly Route[] => [
  route({
    method: 'get',
    path: '/api/v2/buyer/browser-origins',
    operationId: 'listBrowserOrigins',
    summary: 'Origins whose pages may call the API with credentials of the account, newest first',
    tag: 'Browser origins',
    access: 'exchange:admin',
    responses: {
      200: { description: 'All of them', data: z.object({ origins: z.array(BrowserOriginResource) }) },
    },
    handle: async ({ request }) => {
      const { customerId } = request.principal;
      const found = await database.query<Nullable<BrowserOriginResource>>(customerId, {
        name: 'list-browser-origins',
        text: `select origin_id as id, customer_id::float8 as "customerId", origin, label,
                 user_id as "createdByUserId", ${isoColumn('created_at')} as "createdAt",
                 ${isoColumn('created_at')} as "updatedAt"
               from browser_origins where customer_id = $1 and removed_at is null
               order by created_at desc, origin_id desc`,
        values: [customerId],
      });
      const origins = found.map((row) => withoutNulls<BrowserOriginResource>(row));
      return { status: 200, data: { origins } };
    },
  }),
];
