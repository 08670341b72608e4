import type { Pool } from 'pg';
import {
  accountAggregate,
  type Account,
  type AccountCommand,
  type AccountRefusal,
} from '../../domain/accounts/account.ts';
import type { Clock } from '../../shared/async/clock.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import type { Outcome } from '../../shared/aggregate/execute-command.ts';
import { handlerFor } from '../../shared/aggregate/handler-for.ts';
import type { LoadedStream } from '../../shared/aggregate/load-stream.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { ApiError, conflict, invalid, notFound } from '../../shared/http/errors.ts';
import { refusals } from '../../shared/http/refusals.ts';

export interface AccountWrites {
  readonly store: EventStore;
  readonly database: TenantDatabase;
  readonly clock: Clock;
}

export interface InstallationWrites {
  readonly store: EventStore;
  readonly pool: Pool;
  readonly clock: Clock;
}

/** Credentials are checked against these rows. The read model repeats each write, late or twice. */
export interface AccountRows {
  /** Makes accounts live, unless they were disabled since. */
  writeOpened(
    accounts: readonly {
      readonly customerId: number;
      readonly name: string;
      readonly sellerId?: number | undefined;
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
  writeUsers(
    users: readonly {
      readonly customerId: number;
      readonly userId: string;
      readonly name: string;
      readonly role: string;
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

export const runOnAccount = (
  store: EventStore,
  command: AccountCommand,
  context: CommandContext,
): Promise<Outcome<Account, AccountRefusal>> => accounts.execute({ store }, undefined, command, { context });

export const loadAccount = (store: EventStore, customerId: number): Promise<LoadedStream<Account>> =>
  accounts.loadAt({ store }, customerId, undefined);

export const accountOf = accounts.resultOf;
