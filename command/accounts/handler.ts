import type { Pool } from 'pg';
import { Role } from '../../domain/accounts/access.ts';
import {
  accountAggregate,
  type Account,
  type AccountCommand,
  type AccountRefusal,
} from '../../domain/accounts/account.ts';
import type { Clock } from '../../shared/async/clock.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import type { Outcome } from '../../shared/aggregate/execute-command.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import type { LoadedStream } from '../../shared/aggregate/load-stream.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { ApiError, conflict, invalid, notFound } from '../../shared/http/errors.ts';
import { refusals } from '../../shared/http/refusals.ts';
import type { RequestContext } from '../../shared/http/route.ts';

export interface AccountWrites extends CommandStores {
  readonly database: TenantDatabase;
  readonly clock: Clock;
}

export interface InstallationWrites extends CommandStores {
  readonly pool: Pool;
  readonly clock: Clock;
}

export interface UserRole {
  readonly customerId: number;
  readonly userId: string;
  readonly role: string;
  /** Revision of the account's stream. */
  readonly revision: number;
}

/** Credentials and origins are checked against these rows. The read model repeats each write, late or twice. */
export interface AccountRows {
  /** Makes accounts live, unless they were disabled since. */
  writeOpened(
    accounts: readonly {
      readonly customerId: number;
      readonly name: string;
      readonly sellerId?: number | undefined;
      readonly customerDomain?: string | undefined;
    }[],
  ): Promise<void>;
  /** The state of the higher stream revision stays. */
  writeAccess(
    accounts: readonly {
      readonly customerId: number;
      readonly revision: number;
      readonly disabledAt: string | null;
    }[],
  ): Promise<void>;
  /** The role of the higher stream revision stays. */
  writeUsers(
    users: readonly (UserRole & { readonly name: string; readonly addedAt: string })[],
  ): Promise<void>;
  writeRoles(users: readonly UserRole[]): Promise<void>;
  /** Their credentials are refused from then on; addresses and logins are deleted. */
  removeUsers(
    users: readonly {
      readonly customerId: number;
      readonly userId: string;
      readonly revision: number;
      readonly removedAt: string;
    }[],
  ): Promise<void>;
  writeOrigins(
    origins: readonly {
      readonly customerId: number;
      readonly originId: string;
      readonly origin: string;
      readonly label?: string | undefined;
      readonly userId: string;
      readonly registeredAt: string;
    }[],
  ): Promise<void>;
  removeOrigins(
    origins: readonly {
      readonly customerId: number;
      readonly originId: string;
      readonly removedAt: string;
    }[],
  ): Promise<void>;
}

export const accountRefused = refusals<AccountRefusal>({
  'already-open': () => conflict('This account exists already.'),
  'no-such-account': () => notFound('account'),
  'no-such-user': () => notFound('user'),
  'role-of-other-accounts': ({ isSellers }) =>
    conflict(
      isSellers
        ? "This is a seller's account: its users have the role seller."
        : "Only users of a seller's account have the role seller. Give another.",
      'role',
    ),
  'last-admin': ({ role }) =>
    conflict(
      role === 'admin'
        ? 'The account would have no admin. Make another member an admin first.'
        : 'The account would have no user. Add another one first.',
    ),
  'no-such-invitation': () => notFound('invitation'),
  'too-many-invitations': ({ limit, active }) =>
    new ApiError({
      code: 'CONFLICT',
      message: `${active} invitations of the account are open, and ${limit} may be. Revoke one first.`,
      details: { limit, active },
    }),
  'no-such-origin': () => notFound('browser origin'),
  'origin-registered': ({ originId }) =>
    new ApiError({
      code: 'CONFLICT',
      message: 'The account has registered this origin already.',
      field: 'origin',
      details: { id: originId },
    }),
  'too-many-origins': ({ limit, active }) =>
    new ApiError({
      code: 'CONFLICT',
      message: `The account has ${active} browser origins, and may have ${limit}. Remove one first.`,
      details: { limit, active },
    }),
  'expires-in-the-past': () =>
    invalid('expiresAt is not in the future. Give a later time, or leave it out.', 'expiresAt'),
  'scope-beyond-role': ({ scope }) =>
    new ApiError({
      code: 'FORBIDDEN',
      message: `The role of the key's user does not allow ${scope}. Leave it out.`,
      field: 'scopes',
    }),
  'too-many-keys': ({ limit, active }) =>
    new ApiError({
      code: 'CONFLICT',
      message: `The account has ${active} active API keys, and may have ${limit}. Revoke one first.`,
      details: { limit, active },
    }),
});

const accounts = handlerFor(accountAggregate, accountRefused);

export type AccountOutcome = Outcome<Account, AccountRefusal>;

export const runOnAccount = (
  stores: CommandStores,
  command: AccountCommand,
  context: CommandContext,
): Promise<AccountOutcome> => accounts.execute(stores, undefined, command, { context });

export const loadAccount = (stores: CommandStores, customerId: number): Promise<LoadedStream<Account>> =>
  accounts.loadAt(stores, customerId, undefined);

/** Runs nothing. @throws ApiError if the command would be refused now */
export const refuseOnAccount = async (
  stores: CommandStores,
  command: AccountCommand,
  customerId: number,
): Promise<void> => {
  const { state } = await loadAccount(stores, customerId);
  const decision = accountAggregate.decide(command, state);
  if ('refused' in decision) throw accountRefused(decision.refused);
};

export const accountOf = accounts.resultOf;

/** The revision of the stream at which its state is that of the outcome. */
export const revisionOf = (outcome: AccountOutcome): number => {
  if (outcome.outcome === 'refused' || outcome.revision === undefined)
    throw new Error('an accepted command of an account has a revision');
  return outcome.revision;
};

export const userOf = ({
  principal: { user },
}: Pick<RequestContext, 'principal'>): {
  readonly id: string;
  readonly role: Role;
} => {
  if (user === undefined) throw new Error('a principal with scopes has a user');
  return { id: user.id, role: Role.parse(user.role) };
};
