import { z } from 'zod';
import { Role, Scope } from '../domain/accounts/access.ts';
import { firstUserId } from '../domain/accounts/account.ts';
import { isoTimestamp } from '../shared/clock.ts';
import { instant } from '../shared/http/schemas.ts';
import { createKey, createUser, listAccounts, listKeys, revokeKey, setAccess } from './accounts.ts';
import { command, telling, type Command } from './command.ts';
import { createAccount, createSellerAccount } from './create-account.ts';
import { idOf, read } from './words.ts';

/** The operator's commands on accounts, users and keys: from words to words. */

const name = { type: 'string', value: 'NAME', needed: true } as const;

const nameOf = (given: string | undefined, lengthMax: number): string =>
  read(
    z
      .string()
      .max(lengthMax)
      .refine((text) => text.trim() !== ''),
    given,
    `--name is needed, 1 to ${lengthMax} characters`,
  );

const accountsCreate = command({
  name: 'accounts create',
  places: [],
  options: { name, seller: { type: 'string', value: 'SELLER' } },
  about:
    "Opens an account with a first API key, shown once. With --seller it is that seller's: its keys review " +
    'creatives, and do nothing else.',
  understand: (_, given) => {
    const accountName = nameOf(given.name, 200);
    const sellerId = given.seller === undefined ? undefined : idOf('SELLER', given.seller);
    return telling(async ({ backbone }) => {
      const { customerId, apiKey } =
        sellerId === undefined
          ? await createAccount(await backbone(), accountName)
          : await createSellerAccount(await backbone(), accountName, sellerId);
      return {
        value: { customerId, apiKey, sellerId },
        text: `Account ${customerId} (${accountName}) is open.\nAPI key, shown only now: ${apiKey}`,
      };
    });
  },
});

const accountsList = command({
  name: 'accounts list',
  places: [],
  about: 'Lists accounts with their users.',
  understand: () =>
    async function* ({ backbone }) {
      for await (const account of listAccounts(await backbone())) {
        const { customerId, name: accountName, status, sellerId, users } = account;
        const whose = sellerId === undefined ? '' : ` of seller ${sellerId}`;
        const people = users.map((user) => `${user.id} ${user.role} (${user.name})`).join(', ');
        yield { value: account, text: `${customerId} ${status} ${accountName}${whose}: ${people}` };
      }
      return undefined;
    },
});

const setAccessCommand = (verb: 'disable' | 'enable', about: string): Command =>
  command({
    name: `accounts ${verb}`,
    places: ['ACCOUNT'],
    about,
    understand: ([account]) => {
      const customerId = idOf('ACCOUNT', account);
      const access = `${verb}d` as const;
      return telling(async ({ backbone }) => {
        await setAccess(await backbone(), customerId, access);
        return {
          value: { customerId, status: access === 'disabled' ? 'DISABLED' : 'ENABLED' },
          text: `account ${customerId} is ${access}`,
        };
      });
    },
  });

const usersCreate = command({
  name: 'users create',
  places: ['ACCOUNT'],
  options: { name, role: { type: 'string', value: 'admin|member|seller', needed: true } },
  about: 'Adds a user to an account.',
  understand: ([account], given) => {
    const customerId = idOf('ACCOUNT', account);
    const userName = nameOf(given.name, 200);
    const role = read(Role, given.role, "--role must be admin or member, or seller in a seller's account");
    return telling(async ({ backbone }) => {
      const userId = await createUser(await backbone(), customerId, { name: userName, role });
      return {
        value: { customerId, userId, role },
        text: `User ${userId} (${role}) of account ${customerId} is added.`,
      };
    });
  },
});

const Scopes = z
  .string()
  .transform((list) => list.split(',').map((scope) => `exchange:${scope.trim()}`))
  .pipe(z.array(Scope))
  .optional();
const Expiry = instant().transform(isoTimestamp).optional();

const keysCreate = command({
  name: 'keys create',
  places: ['ACCOUNT'],
  options: {
    name,
    user: { type: 'string', value: 'USER' },
    scopes: { type: 'string', value: 'read,write,admin,review' },
    'expires-at': { type: 'string', value: 'TIME' },
  },
  about: "Issues an API key, shown once. Default user: the account's first.",
  understand: ([account], given) => {
    const customerId = idOf('ACCOUNT', account);
    const key = {
      name: nameOf(given.name, 120),
      userId: given.user ?? firstUserId(customerId),
      scopes: read(Scopes, given.scopes, '--scopes must be some of read,write,admin,review'),
      expiresAt: read(Expiry, given['expires-at'], '--expires-at must be a time like 2027-01-31T00:00:00Z'),
    };
    return telling(async ({ backbone }) => {
      const issued = await createKey(await backbone(), customerId, key);
      return {
        value: issued,
        text: `Key ${issued.id} is issued.\nAPI key, shown only now: ${issued.key}`,
      };
    });
  },
});

const keysList = command({
  name: 'keys list',
  places: ['ACCOUNT'],
  about: 'Lists the keys of an account, masked.',
  understand: ([account]) => {
    const customerId = idOf('ACCOUNT', account);
    return async function* ({ backbone }) {
      for await (const key of listKeys(await backbone(), customerId)) {
        const { maskedKey, status, name: keyName, scopes, lastUsedAt = 'never' } = key;
        yield {
          value: key,
          text: `${maskedKey} ${status} ${keyName}: ${scopes.join(' ')}; last used ${lastUsedAt}`,
        };
      }
      return undefined;
    };
  },
});

const keysRevoke = command({
  name: 'keys revoke',
  places: ['ACCOUNT', 'KEY'],
  about: 'Revokes a key: it is refused on its next request.',
  understand: ([account, id = '']) => {
    const customerId = idOf('ACCOUNT', account);
    return telling(async ({ backbone }) => {
      await revokeKey(await backbone(), customerId, id);
      return { value: { customerId, id, status: 'REVOKED' }, text: `key ${id} is revoked` };
    });
  },
});

export const accountCommands: readonly Command[] = [
  accountsCreate,
  accountsList,
  setAccessCommand('disable', 'Refuses every credential of an account.'),
  setAccessCommand('enable', 'Refuses them no longer.'),
  usersCreate,
  keysCreate,
  keysList,
  keysRevoke,
];
