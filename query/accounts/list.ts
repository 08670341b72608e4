import type { ApiKeyResource } from '../../domain/accounts/resource.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';

export type Nullable<Resource> = { readonly [Member in keyof Resource]: Resource[Member] | null };

interface Row {
  readonly total: number;
  readonly keys: readonly Nullable<ApiKeyResource>[];
}

export const withoutNulls = <Resource extends object>(row: Nullable<Resource>): Resource =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as Resource;

export const isoColumn = (column: string): string =>
  `to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** From one snapshot, without unannounced keys: they are not valid yet. */
export const listApiKeys = async (
  database: TenantDatabase,
  customerId: number,
  { skip, take }: { readonly skip: number; readonly take: number },
): Promise<{ readonly keys: readonly ApiKeyResource[]; readonly total: number }> => {
  const [row] = await database.query<Row>(customerId, {
    name: 'list-api-keys',
    text: `select (select count(*)::float8 from api_keys where customer_id = $1 and announced) as total,
             (select coalesce(json_agg(json_build_object('id', key_id, 'name', name, 'maskedKey', masked_key,
                'status', case when revoked_at is not null then 'REVOKED'
                  when expires_at <= clock_timestamp() then 'EXPIRED' else 'ACTIVE' end,
                'scopes', scopes, 'expiresAt', ${isoColumn('expires_at')}, 'lastUsedAt', ${isoColumn('last_used_at')},
                'createdAt', ${isoColumn('created_at')}) order by created_at desc, key_id desc), '[]')
              from (select key_id, name, masked_key, revoked_at, expires_at, scopes, last_used_at, created_at
                from api_keys where customer_id = $1 and announced
                order by created_at desc, key_id desc limit $2::bigint offset $3::bigint) page) as keys`,
    values: [customerId, take, skip],
  });
  const keys = (row?.keys ?? []).map((key) => withoutNulls<ApiKeyResource>(key));
  return { keys, total: row?.total ?? 0 };
};
