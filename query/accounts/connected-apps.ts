import type { ConnectedApp } from '../../domain/accounts/connected-app.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';

interface Row {
  readonly total: number;
  readonly apps: readonly ConnectedApp[];
}

const iso = (column: string): string =>
  `to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** @param userId undefined: of all users */
export const listConnectedApps = async (
  database: TenantDatabase,
  customerId: number,
  userId: string | undefined,
  { skip, take }: { readonly skip: number; readonly take: number },
): Promise<Row> => {
  const [row] = await database.query<Row>(customerId, {
    name: 'list-connected-apps',
    text: `with live as (select * from oauth_grants where customer_id = $1 and revoked_at is null
               and expires_at > clock_timestamp() and ($2::text is null or user_id = $2))
           select (select count(*)::float8 from live) as total,
             (select coalesce(json_agg(json_strip_nulls(json_build_object('grantId', grant_id,
                'client', json_build_object('id', client_id, 'name', client_name, 'host', client_host),
                'userId', user_id, 'scopes', scopes, 'resources', resources, 'createdAt', ${iso('created_at')},
                'expiresAt', ${iso('expires_at')}, 'lastUsedAt', ${iso('last_used_at')}))
                order by created_at desc, grant_id desc), '[]')
              from (select * from live order by created_at desc, grant_id desc
                limit $3::bigint offset $4::bigint) page) as apps`,
    values: [customerId, userId, take, skip],
  });
  return row ?? { total: 0, apps: [] };
};
