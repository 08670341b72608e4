import type { Knex } from 'knex';
import { eventLog } from './0001-event-log.ts';
import { projections } from './0002-projections.ts';
import { accounts } from './0003-accounts.ts';
import { advertisers } from './0004-advertisers.ts';
import { idempotencyKeys } from './0005-idempotency-keys.ts';
import { snapshots } from './0008-snapshots.ts';

/** Structurally the kernel's `Migration`: this room imports nothing, the composition root brings them together. */
interface Migration {
  readonly name: string;
  up(knex: Knex): Promise<void>;
}

/** Every migration ever released, oldest first. Add at the end; never edit or reorder. */
export const migrations: readonly Migration[] = [
  eventLog,
  projections,
  accounts,
  advertisers,
  idempotencyKeys,
  snapshots,
];
