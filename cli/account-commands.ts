import { instant } from '../domain/values.ts';
import { z } from 'zod';
import { Scope } from '../domain/accounts/access.ts';
import { brandDomainOf } from '../domain/brands/brand.ts';
import { firstUserId } from '../domain/accounts/account.ts';
import { isoTimestamp } from '../shared/async/clock.ts';
import { createKey, listKeys, requireAccount, revokeKey, setAccess } from './operate-accounts.ts';
import { printList, relativeTime } from './print-table.ts';
import { listAccounts } from '../query/accounts/list-accounts.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { createAccount, createSellerAccount } from '../app/create-account.ts';
import { parsed, parseId } from './parse-args.ts';

export const parseName = (lengthMax: number) =>
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
  addKeys(program, tools);
};

const parseDomain = parsed(
  z.string().transform(brandDomainOf).pipe(z.string()),
  'It must be a domain like acme.com.',
);

interface AccountOptions {
  readonly name: string;
  readonly seller?: number;
  readonly domain?: string;
}

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
    .option('--domain <DOMAIN>', 'the domain of the company, e.g. acme.com', parseDomain)
    .example('--name Acme --domain acme.com', '--name "News desk" --seller 1001 --json')
    .action(async ({ name, seller: sellerId, domain }: AccountOptions) => {
      const { customerId, apiKey } =
        sellerId === undefined
          ? await createAccount(await installation(), name, domain)
          : await createSellerAccount(await installation(), name, sellerId, domain);
      print(
        { customerId, apiKey, sellerId, customerDomain: domain },
        `Account ${customerId} (${name}) is open.\nAPI key, shown only now: ${apiKey}\n` +
          `To sign in: exchange users link ${customerId} ${firstUserId(customerId)}`,
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
