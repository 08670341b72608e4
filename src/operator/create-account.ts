import { openAccount, type OpenedAccount } from '../command/accounts/open-account.ts';
import type { Backbone } from '../composition.ts';
import { systemClock } from '../shared/clock.ts';
import { advisoryLocks } from '../shared/postgres/advisory-locks.ts';
import { idSequence } from '../shared/postgres/sequence.ts';

/** Opens an account on this installation. */
export const createAccount = ({ store, pool }: Backbone, name: string): Promise<OpenedAccount> =>
  openAccount(
    { store, pool, clock: systemClock, nextCustomerId: idSequence(pool, 'customer_ids').next },
    name,
  );

/**
 * Opens the first account of an empty installation; does nothing when there is one.
 * @returns the account with its key, only to whoever created it
 */
export const createFirstAccount = async (backbone: Backbone): Promise<OpenedAccount | undefined> => {
  const client = await backbone.pool.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [advisoryLocks.firstAccount]);
    const { rows } = await client.query<{ any: boolean }>(
      'select exists (select from accounts where access_revision >= 0) as any',
    );
    return rows[0]?.any === true ? undefined : await createAccount(backbone, 'First account');
  } finally {
    // The lock goes with its connection, whatever happened in between.
    client.release(true);
  }
};
