import type { Installation } from '../app/installation.ts';
import { issueApiKey } from '../command/accounts/issue-api-key.ts';
import { addUser, contextOf, setAccountAccess } from '../command/accounts/manage-account.ts';
import { revokeApiKey } from '../command/accounts/revoke-api-key.ts';
import type { Role, Scope } from '../domain/accounts/access.ts';
import type { ApiKeyResource } from '../domain/accounts/account-resource.ts';
import { listApiKeys } from '../query/accounts/list-api-keys.ts';
import { accountRowsIn } from '../projections/account-rows.ts';
import { systemClock } from '../shared/async/clock.ts';
import { createTenantDatabase } from '../shared/postgres/tenant-database.ts';

export interface ListedAccount {
  readonly customerId: number;
  readonly name: string;
  readonly status: 'ENABLED' | 'DISABLED';
  /** Set when a seller owns the account. */
  readonly sellerId?: number | undefined;
  readonly users: readonly { readonly id: string; readonly name: string; readonly role: Role }[];
}

const PAGE = 200;

export async function* listAccounts({ pool }: Installation): AsyncGenerator<ListedAccount> {
  let after = 0;
  for (;;) {
    const { rows } = await pool.query<ListedAccount & { readonly sellerId: number | null }>(
      `select a.customer_id::float8 as "customerId", a.name, a.seller_id as "sellerId",
         case when a.disabled_at is null then 'ENABLED' else 'DISABLED' end as status,
         (select coalesce(json_agg(json_build_object('id', u.user_id, 'name', u.name, 'role', u.role)
            order by u.user_id), '[]') from users u where u.customer_id = a.customer_id) as users
       from accounts a where a.customer_id > $1 and a.access_revision >= 0 order by a.customer_id limit $2`,
      [after, PAGE],
    );
    for (const { sellerId, ...account } of rows) yield sellerId === null ? account : { ...account, sellerId };
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = last.customerId;
  }
}

const writesOf = ({ store, pool, requestPool }: Installation) => ({
  store,
  pool,
  rows: accountRowsIn(pool),
  database: createTenantDatabase(requestPool),
  clock: systemClock,
});

export const setAccess = (
  installation: Installation,
  customerId: number,
  access: 'disabled' | 'enabled',
): Promise<void> => setAccountAccess(writesOf(installation), customerId, access);

export const createUser = (
  installation: Installation,
  customerId: number,
  user: { readonly name: string; readonly role: Role },
): Promise<string> => addUser(writesOf(installation), customerId, user);

/**
 * Issues a key for a user of the account.
 * @throws Error when the account has no such user; ApiError as over HTTP
 */
export const createKey = async (
  installation: Installation,
  customerId: number,
  key: {
    readonly name: string;
    readonly userId: string;
    readonly scopes?: readonly Scope[] | undefined;
    readonly expiresAt?: string | undefined;
  },
) => {
  const { rows } = await installation.pool.query<{ role: Role }>(
    'select role from users where customer_id = $1 and user_id = $2',
    [customerId, key.userId],
  );
  const [user] = rows;
  if (user === undefined) throw new Error(`account ${customerId} has no user ${key.userId}`);
  const { name, userId: id, scopes, expiresAt } = key;
  const request = { name, user: { id, role: user.role }, scopes, expiresAt };
  return issueApiKey(writesOf(installation), request, contextOf(customerId));
};

export async function* listKeys(
  installation: Installation,
  customerId: number,
): AsyncGenerator<ApiKeyResource> {
  const { database } = writesOf(installation);
  for (let skip = 0; ; skip += PAGE) {
    const { keys, total } = await listApiKeys(database, customerId, { skip, take: PAGE });
    yield* keys;
    if (skip + PAGE >= total) return;
  }
}

/** @throws ApiError NOT_FOUND when the account has no such key */
export const revokeKey = (installation: Installation, customerId: number, keyId: string): Promise<void> =>
  revokeApiKey(writesOf(installation), keyId, contextOf(customerId));
