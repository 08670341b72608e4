import { instant } from '../domain/values.ts';
import { Option } from 'commander';
import { z } from 'zod';
import { Role, Scope } from '../domain/accounts/access.ts';
import { firstUserId } from '../domain/accounts/account.ts';
import { isoTimestamp } from '../shared/async/clock.ts';
import { createKey, createUser, listKeys, requireAccount, revokeKey, setAccess } from './operate-accounts.ts';
import { printList, relativeTime } from './print-table.ts';
import { listAccounts } from '../query/accounts/list-accounts.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { createAccount, createSellerAccount } from '../app/create-account.ts';
import { parsed, parseId } from './parse-args.ts';

const parseName = (lengthMax: number) =>
  parsed(
    z
      .string()
      .max(lengthMax)
      .refine((text) => text.trim() !== ''),
    `It must have 1 to ${lengthMax} characters.`,
  );

const parseScopes = parsed(
  z
    .string()
    .transform((list) => list.split(',').map((scope) => `exchange:${scope.trim()}`))
    .pipe(z.array(Scope)),
  'It must be a list from read,write,admin,review.',
);

const parseTime = parsed(instant().transform(isoTimestamp), 'It must be a time like 2027-01-31T00:00:00Z.');

export const addAccountCommands = (program: OperatorCommand, tools: Tools): void => {
  addAccounts(program, tools);
  addUsers(program, tools);
  addKeys(program, tools);
};

const addAccounts = (program: OperatorCommand, tools: Tools): void => {
  const { installation, print } = tools;
  const accounts = program.command('accounts').description('Accounts of buyers and sellers.');

  accounts
    .command('create')
    .description(
      'Opens an account and prints its first API key once. With --seller it belongs to that seller: its keys can ' +
        'only review creatives.',
    )
    .requiredOption('--name <NAME>', '1 to 200 characters', parseName(200))
    .option('--seller <SELLER>', 'id of the seller that owns the account', parseId)
    .example('--name Acme', '--name "News desk" --seller 1001 --json')
    .action(async ({ name, seller: sellerId }: { readonly name: string; readonly seller?: number }) => {
      const { customerId, apiKey } =
        sellerId === undefined
          ? await createAccount(await installation(), name)
          : await createSellerAccount(await installation(), name, sellerId);
      print(
        { customerId, apiKey, sellerId },
        `Account ${customerId} (${name}) is open.\nAPI key, shown only now: ${apiKey}`,
      );
    });

  accounts
    .command('list')
    .description('Lists accounts with their users.')
    .action(async () => {
      const { pool } = await installation();
      await printList(tools, listAccounts(pool), {
        head: ['account', 'status', 'name', 'seller', 'users'],
        cells: ({ customerId, name, status, sellerId, users }) => [
          String(customerId),
          status,
          name,
          sellerId === undefined ? '-' : String(sellerId),
          users.map((user) => `${user.id} ${user.role} (${user.name})`).join(', '),
        ],
        empty: 'There is no account yet. Create one: exchange accounts create --name NAME',
      });
    });

  for (const [verb, access, about] of [
    ['disable', 'disabled', 'Disables an account: every request with its credentials is refused.'],
    ['enable', 'enabled', 'Re-enables a disabled account.'],
  ] as const) {
    accounts
      .command(verb)
      .description(about)
      .argument('<ACCOUNT>', 'id of the account', parseId)
      .example('1')
      .action(async (customerId: number) => {
        await setAccess(await installation(), customerId, access);
        const status = access === 'disabled' ? 'DISABLED' : 'ENABLED';
        print({ customerId, status }, `Account ${customerId} is ${access}.`);
      });
  }
};

const addUsers = (program: OperatorCommand, { installation, print }: Tools): void => {
  program
    .command('users')
    .description('Users of accounts.')
    .command('create')
    .description('Adds a user to an account.')
    .argument('<ACCOUNT>', 'id of the account', parseId)
    .requiredOption('--name <NAME>', '1 to 200 characters', parseName(200))
    .addOption(
      new Option('--role <ROLE>', 'only seller accounts have users with the role seller')
        .choices(Role.options)
        .makeOptionMandatory(),
    )
    .example('1 --name Mo --role member')
    .action(async (customerId: number, user: { readonly name: string; readonly role: Role }) => {
      const userId = await createUser(await installation(), customerId, user);
      print(
        { customerId, userId, role: user.role },
        `User ${userId} (${user.role}) of account ${customerId} is added.`,
      );
    });
};

interface KeyOptions {
  readonly name: string;
  readonly user?: string;
  readonly scopes?: readonly Scope[];
  readonly expiresAt?: string;
}

const addKeys = (program: OperatorCommand, tools: Tools): void => {
  const { installation, print } = tools;
  const keys = program.command('keys').description('API keys.');

  keys
    .command('create')
    .description('Issues an API key, shown once.')
    .argument('<ACCOUNT>', 'id of the account', parseId)
    .requiredOption('--name <NAME>', '1 to 120 characters', parseName(120))
    .option('--user <USER>', "default: the account's first user")
    .option(
      '--scopes <SCOPE,...>',
      "a list from read,write,admin,review; default: the user's scopes",
      parseScopes,
    )
    .option('--expires-at <TIME>', 'e.g. 2027-01-31T00:00:00Z; default: never', parseTime)
    .example('1 --name CI', '1 --name Reports --scopes read --expires-at 2027-01-31T00:00:00Z')
    .action(async (customerId: number, { user, ...key }: KeyOptions) => {
      const issued = await createKey(await installation(), customerId, {
        ...key,
        userId: user ?? firstUserId(customerId),
      });
      print(issued, `Key ${issued.id} is issued.\nAPI key, shown only now: ${issued.key}`);
    });

  keys
    .command('list')
    .description('Lists the keys of an account, masked.')
    .argument('<ACCOUNT>', 'id of the account', parseId)
    .example('1')
    .action(async (customerId: number) => {
      await requireAccount(await installation(), customerId);
      await printList(tools, listKeys(await installation(), customerId), {
        head: ['key', 'masked', 'status', 'created', 'last used', 'name', 'scopes'],
        cells: ({ id, maskedKey, status, createdAt, lastUsedAt, name, scopes }) => [
          id,
          maskedKey,
          status,
          relativeTime(createdAt),
          lastUsedAt === undefined ? 'never' : relativeTime(lastUsedAt),
          name,
          scopes.join(' '),
        ],
        empty: `Account ${customerId} has no key. Create one: exchange keys create ${customerId} --name NAME`,
      });
    });

  keys
    .command('revoke')
    .description('Revokes a key. The service refuses its next request.')
    .argument('<ACCOUNT>', 'id of the account', parseId)
    .argument('<KEY>', 'id of the key, as `keys list` prints it')
    .example('1 a1B2c3D4e5F6g7H8')
    .action(async (customerId: number, id: string) => {
      await requireAccount(await installation(), customerId);
      await revokeKey(await installation(), customerId, id);
      print({ customerId, id, status: 'REVOKED' }, `Key ${id} is revoked.`);
    });
};
