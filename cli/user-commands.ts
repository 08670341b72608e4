import { Option } from 'commander';
import { Role } from '../domain/accounts/access.ts';
import { EmailAddress } from '../domain/accounts/address.ts';
import { baseUrlOf } from '../app/base-url.ts';
import { pageLink } from '../command/accounts/page-link.ts';
import { parseName } from './account-commands.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { createUser, requireAccount } from './operate-accounts.ts';
import {
  disableSecondFactor,
  inviteUser,
  issueLink,
  listUsers,
  removeUser,
  setRole,
} from './operate-users.ts';
import { parsed, parseId } from './parse-args.ts';
import { printList, relativeTime } from './print-table.ts';

const parseEmail = parsed(EmailAddress, 'It must be an e-mail address.');

const roleOption = (): Option =>
  new Option('--role <ROLE>', 'only seller accounts have users with the role seller')
    .choices(Role.options)
    .makeOptionMandatory();

export const addUserCommands = (program: OperatorCommand, tools: Tools): void => {
  const users = program.command('users').description('Users of accounts.');
  addList(users, tools);
  addNewUsers(users, tools);
  addRoleChanges(users, tools);
  addRecovery(users, tools);
};

const addList = (users: OperatorCommand, tools: Tools): void => {
  users
    .command('list')
    .description('Lists the users of an account, newest first.')
    .argument('<ACCOUNT>', 'id of the account', parseId)
    .example('1')
    .action(async (customerId: number) => {
      await requireAccount(await tools.installation(), customerId);
      await printList(tools, listUsers(await tools.installation(), customerId), {
        head: ['user', 'role', 'address', 'last sign-in', 'added', 'name'],
        cells: ({ id, role, email, lastSignInAt, createdAt, name }) => [
          id,
          role,
          email ?? '-',
          lastSignInAt === undefined ? 'never' : relativeTime(lastSignInAt),
          relativeTime(createdAt),
          name,
        ],
        empty: `Account ${customerId} has no user.`,
      });
    });
};

const addNewUsers = (users: OperatorCommand, { installation, config, print }: Tools): void => {
  users
    .command('create')
    .description('Adds a user without a login to an account: for API keys, or for `users link`.')
    .argument('<ACCOUNT>', 'id of the account', parseId)
    .requiredOption('--name <NAME>', '1 to 200 characters', parseName(200))
    .addOption(roleOption())
    .example('1 --name Mo --role member')
    .action(async (customerId: number, user: { readonly name: string; readonly role: Role }) => {
      const userId = await createUser(await installation(), customerId, user);
      print(
        { customerId, userId, role: user.role },
        `User ${userId} (${user.role}) of account ${customerId} is added.`,
      );
    });

  users
    .command('invite')
    .description('Invites a person by mail, and prints the link, which works once, within 7 days.')
    .argument('<ACCOUNT>', 'id of the account', parseId)
    .requiredOption('--email <ADDRESS>', 'e-mail address of the person', parseEmail)
    .addOption(roleOption())
    .example('1 --email mo@acme.com --role member')
    .action(async (customerId: number, person: { readonly email: string; readonly role: Role }) => {
      await requireAccount(await installation(), customerId);
      const { invitation, token } = await inviteUser(await installation(), customerId, person);
      const link = pageLink(baseUrlOf(config(), config().PORT), 'invitation', token);
      print({ customerId, ...invitation, link }, `Invitation ${invitation.id} is sent. Its link:\n${link}`);
    });
};

const addRoleChanges = (users: OperatorCommand, { installation, print }: Tools): void => {
  users
    .command('set-role')
    .description('Changes the role of a user, from the next request of the user on.')
    .argument('<ACCOUNT>', 'id of the account', parseId)
    .argument('<USER>', 'id of the user, as `users list` prints it')
    .addOption(roleOption())
    .example('1 1-2 --role admin')
    .action(async (customerId: number, userId: string, { role }: { readonly role: Role }) => {
      await setRole(await installation(), { customerId, userId }, role);
      print({ customerId, userId, role }, `User ${userId} has the role ${role}.`);
    });

  users
    .command('remove')
    .description('Removes a user: API keys, sessions and connected apps end, and the address is deleted.')
    .argument('<ACCOUNT>', 'id of the account', parseId)
    .argument('<USER>', 'id of the user, as `users list` prints it')
    .example('1 1-2')
    .action(async (customerId: number, userId: string) => {
      await removeUser(await installation(), { customerId, userId });
      print({ customerId, userId, status: 'REMOVED' }, `User ${userId} is removed.`);
    });
};

const addRecovery = (users: OperatorCommand, { installation, config, print }: Tools): void => {
  users
    .command('link')
    .description(
      'Prints a link with which a user chooses a password, also a first or a forgotten one. It works once, within ' +
        '24 hours, and replaces the one before.',
    )
    .argument('<ACCOUNT>', 'id of the account', parseId)
    .argument('<USER>', 'id of the user, as `users list` prints it')
    .example('1 1-1')
    .action(async (customerId: number, userId: string) => {
      const { token, expiresAt } = await issueLink(await installation(), { customerId, userId });
      const link = pageLink(baseUrlOf(config(), config().PORT), 'set-up', token);
      print({ customerId, userId, link, expiresAt }, link);
    });

  users
    .command('disable-totp')
    .description('Turns off the second factor of a user who has lost it.')
    .argument('<ACCOUNT>', 'id of the account', parseId)
    .argument('<USER>', 'id of the user, as `users list` prints it')
    .example('1 1-2')
    .action(async (customerId: number, userId: string) => {
      await disableSecondFactor(await installation(), { customerId, userId });
      print(
        { customerId, userId, totp: { enabled: false } },
        `User ${userId} signs in without a second factor.`,
      );
    });
};
