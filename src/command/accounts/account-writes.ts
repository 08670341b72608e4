import type { Pool } from 'pg';
import { accountEvents } from '../../domain/accounts/account-events.ts';
import {
  accountDecider,
  accountStream,
  type Account,
  type AccountCommand,
  type AccountRefusal,
} from '../../domain/accounts/account.ts';
import type { Clock } from '../../shared/clock.ts';
import type { CommandContext } from '../../shared/command/command-context.ts';
import { executeCommand, type Outcome } from '../../shared/command/execute-command.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';

/** What commands on an existing account need. */
export interface AccountWrites {
  readonly store: EventStore;
  /** Of the account's own credentials. */
  readonly database: TenantDatabase;
  readonly clock: Clock;
}

/** What opening an account needs, and closing it: before and outside of any account. */
export interface InstallationWrites {
  readonly store: EventStore;
  readonly pool: Pool;
  readonly clock: Clock;
}

export const accountAggregate = { decider: accountDecider, events: accountEvents };

export const runOnAccount = (
  store: EventStore,
  command: AccountCommand,
  context: CommandContext,
): Promise<Outcome<Account, AccountRefusal>> =>
  executeCommand(store, accountAggregate, { stream: accountStream(context.customerId), command, context });
