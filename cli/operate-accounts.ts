import type { Installation } from '../app/installation.ts';
import { issueApiKey } from '../command/accounts/issue-api-key.ts';
import { addUser, contextOf, revokeApiKey, setAccountAccess } from '../command/accounts/commands.ts';
import type { Role, Scope } from '../domain/accounts/access.ts';
import type { ApiKeyResource } from '../domain/accounts/resource.ts';
import { findAccount } from '../query/accounts/list-accounts.ts';
import { listApiKeys } from '../query/accounts/list.ts';
import { accountRowsIn } from '../projections/account-rows.ts';
import { systemClock } from '../shared/async/clock.ts';
import { ApiError } from '../shared/http/errors.ts';
import { createTenantDatabase } from '../shared/postgres/tenant-database.ts';

const noAccount = (customerId: number): Error => new Error(`There is no account ${customerId}.`);

export const requireAccount = async ({ pool }: Pick<Installation, 'pool'>, customerId: number) => {
  const account = await findAccount(pool, customerId);
  if (account === undefined) throw noAccount(customerId);
  return account;
};

/** For commands that read the account's stream: its row may be missing if its opening was cut off. */
const inAccount = <Result>(customerId: number, command: Promise<Result>): Promise<Result> =>
  command.catch((error: unknown) => {
    throw error instanceof ApiError && error.body.code === 'NOT_FOUND' ? noAccount(customerId) : error;
  });

export const writesOf = ({ store, snapshots, pool, requestPool }: Installation) => ({
  store,
  snapshots,
  pool,
  rows: accountRowsIn(pool),
  database: createTenantDatabase(requestPool),
  clock: systemClock,
});

export const setAccess = (
  installation: Installation,
  customerId: number,
  access: 'disabled' | 'enabled',
): Promise<void> => inAccount(customerId, setAccountAccess(writesOf(installation), customerId, access));

export const createUser = (
  installation: Installation,
  customerId: number,
  user: { readonly name: string; readonly role: Role },
): Promise<string> => inAccount(customerId, addUser(writesOf(installation), customerId, user));

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
  const { users } = await requireAccount(installation, customerId);
  const user = users.find(({ id }) => id === key.userId);
  if (user === undefined) throw new Error(`Account ${customerId} has no user ${key.userId}.`);
  const { name, userId: id, scopes, expiresAt } = key;
  const request = { name, user: { id, role: user.role }, scopes, expiresAt };
  return issueApiKey(writesOf(installation), request, contextOf(customerId));
};

export async function* listKeys(
  installation: Installation,
  customerId: number,
): AsyncGenerator<ApiKeyResource> {
  const { database } = writesOf(installation);
  const PAGE = 200;
  for (let skip = 0; ; skip += PAGE) {
    const { keys, total } = await listApiKeys(database, customerId, { skip, take: PAGE });
    yield* keys;
    if (skip + PAGE >= total) return;
  }
}

/** @throws ApiError NOT_FOUND when the account has no such key */
export const revokeKey = (installation: Installation, customerId: number, keyId: string): Promise<void> =>
  revokeApiKey(writesOf(installation), keyId, contextOf(customerId));
