import type { Decider } from '../decision.ts';
import type { AccountEvent } from './account-events.ts';
import { accountDecider, type Account, type IssuedKey, type OpenedAccount } from './account.ts';

/** A key that was issued, whatever has become of it. */
export interface KnownKey extends IssuedKey {
  readonly revokedAt?: string;
}

/** An account with every key that it ever had: commands need those that live only, whoever looks back all of them. */
export interface AccountPast {
  readonly account: Account;
  /** By id. */
  readonly keys: Readonly<Record<string, KnownKey>>;
}

const evolve = ({ account, keys }: AccountPast, event: AccountEvent): AccountPast => {
  const next = accountDecider.evolve(account, event);
  if (next.status === 'NONE') return { account: next, keys };
  if (event.type === 'ApiKeyIssued') {
    const issued = next.keys[event.data.keyId];
    return issued === undefined
      ? { account: next, keys }
      : { account: next, keys: { ...keys, [event.data.keyId]: issued } };
  }
  if (event.type === 'ApiKeyRevoked') {
    const revoked = keys[event.data.keyId];
    return revoked === undefined
      ? { account: next, keys }
      : {
          account: next,
          keys: { ...keys, [event.data.keyId]: { ...revoked, revokedAt: event.occurredAt } },
        };
  }
  return { account: next, keys };
};

/** How an account's stream becomes its past. */
export const accountPast: Pick<
  Decider<AccountPast, never, AccountEvent, never>,
  'initialState' | 'evolve'
> = { initialState: { account: { status: 'NONE' }, keys: {} }, evolve };

/** The account as history shows it. */
export const accountMembers = (
  { customerId, name, status, disabledAt, users }: OpenedAccount,
  keys: AccountPast['keys'],
) => ({
  id: customerId,
  company: name,
  status,
  disabledAt,
  users,
  apiKeys: Object.fromEntries(Object.entries(keys).map(([keyId, key]) => [keyId, keyMembers(keyId, key)])),
});

/** A key as history shows it: never the key, which no event holds. */
export const keyMembers = (
  id: string,
  { name, maskedKey, userId, scopes, issuedAt, expiresAt, revokedAt }: KnownKey,
) => ({
  id,
  name,
  maskedKey,
  status: revokedAt === undefined ? 'ACTIVE' : 'REVOKED',
  userId,
  scopes,
  createdAt: issuedAt,
  expiresAt,
  revokedAt,
});

/** Users by the ids of their keys, those of revoked ones too. */
export const usersOfKeys = ({ keys }: AccountPast): ReadonlyMap<string, string> =>
  new Map(Object.entries(keys).map(([keyId, { userId }]) => [keyId, userId]));
