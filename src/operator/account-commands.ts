import { z } from 'zod';
import type { Backbone } from '../composition.ts';
import { Role, Scope } from '../domain/accounts/access.ts';
import { firstUserId } from '../domain/accounts/account.ts';
import { createKey, createUser, listAccounts, listKeys, revokeKey, setAccess } from './accounts.ts';
import { createAccount, createSellerAccount } from './create-account.ts';
import { isoTimestamp } from '../shared/clock.ts';
import { instant } from '../shared/http/schemas.ts';
import { idOf, line, read, type Given, type Work } from './words.ts';

/** The operator's commands on accounts, users and keys: from words to words. */

export const accountUsage = `  accounts create --name NAME [--seller SELLER] [--json]
                                         Opens an account with a first API key, shown once. With --seller it
                                         is that seller's: its keys review creatives, and do nothing else.
  accounts list [--json]                 Lists accounts with their users.
  accounts disable|enable ACCOUNT        Refuses every credential of an account, or no longer.
  users create ACCOUNT --name NAME --role admin|member|seller [--json]
  keys create ACCOUNT --name NAME [--user USER] [--scopes read,write,admin,review] [--expires-at TIME] [--json]
                                         Issues an API key, shown once. Default user: the account's first.
  keys list ACCOUNT [--json]             Lists the keys of an account, masked.
  keys revoke ACCOUNT KEY                Revokes a key: it is refused on its next request.
`;

export const accountOptions = {
  name: { type: 'string' },
  seller: { type: 'string' },
  user: { type: 'string' },
  role: { type: 'string' },
  scopes: { type: 'string' },
  'expires-at': { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

const nameOf = ({ name }: Given, lengthMax: number): string =>
  read(
    z
      .string()
      .max(lengthMax)
      .refine((text) => text.trim() !== ''),
    name,
    `--name is needed, 1 to ${lengthMax} characters`,
  );

/** The work of `words`; undefined when they name none of these commands. */
export const accountCommand = (
  command: string,
  [first, second]: readonly string[],
  given: Given,
): Work | undefined => {
  switch (command) {
    case 'accounts create':
      return createAccountWork(
        nameOf(given, 200),
        given.seller === undefined ? undefined : idOf('SELLER', given.seller),
        given,
      );
    case 'accounts list':
      return (backbone) => listAccountsWork(backbone, given);
    case 'accounts disable':
    case 'accounts enable':
      return setAccessWork(idOf('ACCOUNT', first), command === 'accounts disable' ? 'disabled' : 'enabled');
    case 'users create':
      return createUserWork(idOf('ACCOUNT', first), given);
    case 'keys create':
      return createKeyWork(idOf('ACCOUNT', first), given);
    case 'keys list':
      return (
        (account) => (backbone: Backbone) =>
          listKeysWork(backbone, account, given)
      )(idOf('ACCOUNT', first));
    case 'keys revoke':
      return revokeKeyWork(
        idOf('ACCOUNT', first),
        read(z.string(), second, 'keys revoke needs ACCOUNT and KEY'),
      );
    default:
      return undefined;
  }
};

const createAccountWork = (name: string, sellerId: number | undefined, given: Given): Work =>
  async function* (backbone) {
    const { customerId, apiKey } =
      sellerId === undefined
        ? await createAccount(backbone, name)
        : await createSellerAccount(backbone, name, sellerId);
    yield line(
      given,
      { customerId, apiKey, sellerId },
      `Account ${customerId} (${name}) is open.\nAPI key, shown only now: ${apiKey}`,
    );
  };

async function* listAccountsWork(backbone: Backbone, given: Given): AsyncGenerator<string> {
  for await (const account of listAccounts(backbone)) {
    const { customerId, name, status, sellerId, users } = account;
    const whose = sellerId === undefined ? '' : ` of seller ${sellerId}`;
    const people = users.map((user) => `${user.id} ${user.role} (${user.name})`).join(', ');
    yield line(given, account, `${customerId} ${status} ${name}${whose}: ${people}`);
  }
}

const setAccessWork = (customerId: number, access: 'disabled' | 'enabled'): Work =>
  async function* (backbone) {
    await setAccess(backbone, customerId, access);
    yield `account ${customerId} is ${access}`;
  };

const createUserWork = (customerId: number, given: Given): Work => {
  const name = nameOf(given, 200);
  const role = read(Role, given.role, "--role must be admin or member, or seller in a seller's account");
  return async function* (backbone) {
    const userId = await createUser(backbone, customerId, { name, role });
    yield line(
      given,
      { customerId, userId, role },
      `User ${userId} (${role}) of account ${customerId} is added.`,
    );
  };
};

const Scopes = z
  .string()
  .transform((list) => list.split(',').map((scope) => `exchange:${scope.trim()}`))
  .pipe(z.array(Scope))
  .optional();
const Expiry = instant().transform(isoTimestamp).optional();

const createKeyWork = (customerId: number, given: Given): Work => {
  const key = {
    name: nameOf(given, 120),
    userId: given.user ?? firstUserId(customerId),
    scopes: read(Scopes, given.scopes, '--scopes must be some of read,write,admin,review'),
    expiresAt: read(Expiry, given['expires-at'], '--expires-at must be a time like 2027-01-31T00:00:00Z'),
  };
  return async function* (backbone) {
    const issued = await createKey(backbone, customerId, key);
    yield line(given, issued, `Key ${issued.id} is issued.\nAPI key, shown only now: ${issued.key}`);
  };
};

async function* listKeysWork(backbone: Backbone, customerId: number, given: Given): AsyncGenerator<string> {
  for await (const key of listKeys(backbone, customerId)) {
    const { maskedKey, status, name, scopes, lastUsedAt = 'never' } = key;
    yield line(given, key, `${maskedKey} ${status} ${name}: ${scopes.join(' ')}; last used ${lastUsedAt}`);
  }
}

const revokeKeyWork = (customerId: number, keyId: string): Work =>
  async function* (backbone) {
    await revokeKey(backbone, customerId, keyId);
    yield `key ${keyId} is revoked`;
  };
