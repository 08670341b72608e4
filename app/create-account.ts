import { openAccount, type NewAccount, type OpenedAccount } from '../command/accounts/open-account.ts';
import { contextOf } from '../command/accounts/commands.ts';
import { issueUserLink, type UserLink } from '../command/accounts/user-link.ts';
import { loadDirectory } from '../command/sellers/handler.ts';
import { firstUserId } from '../domain/accounts/account.ts';
import type { Installation } from './installation.ts';
import { systemClock } from '../shared/async/clock.ts';
import { notFound } from '../shared/http/errors.ts';
import { advisoryLocks } from '../shared/postgres/advisory-locks.ts';
import { accountRowsIn } from '../projections/account-rows.ts';
import { hasAccounts } from './lookups/find-accounts.ts';
import { idSequence } from '../shared/postgres/sequence.ts';

const openNumbered = ({ store, pool }: Installation, account: NewAccount): Promise<OpenedAccount> =>
  openAccount(
    {
      store,
      pool,
      clock: systemClock,
      rows: accountRowsIn(pool),
      nextCustomerId: idSequence(pool, 'customer_ids').next,
    },
    account,
  );

export const createAccount = (
  installation: Installation,
  name: string,
  customerDomain?: string,
): Promise<OpenedAccount> => openNumbered(installation, { name, customerDomain });

/** @throws ApiError NOT_FOUND when the directory does not list the seller, or lists it as retired */
export const createSellerAccount = async (
  installation: Installation,
  name: string,
  sellerId: number,
  customerDomain?: string,
): Promise<OpenedAccount> => {
  const directory = await loadDirectory(installation);
  if (!directory.some((seller) => seller.sellerId === sellerId && !seller.retired)) throw notFound('seller');
  return openNumbered(installation, { name, sellerId, customerDomain });
};

/** Opens the first account of an empty installation. @returns undefined when an account exists */
export const createFirstAccount = async (installation: Installation): Promise<OpenedAccount | undefined> => {
  const client = await installation.pool.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [advisoryLocks.firstAccount]);
    return (await hasAccounts(client)) ? undefined : await createAccount(installation, 'First account');
  } finally {
    // Closing the connection releases the lock, also after an error.
    client.release(true);
  }
};

/** For the first user, who has no login yet. */
export const linkOfFirstUser = (installation: Installation, customerId: number): Promise<UserLink> =>
  issueUserLink({ ...installation, clock: systemClock }, firstUserId(customerId), contextOf(customerId));
