import { randomUUID } from 'node:crypto';
import { firstUser } from '../../domain/accounts/account.ts';
import { scopesOfRole } from '../../domain/accounts/access.ts';
import { writeOpened } from '../../shared/auth/account-rows.ts';
import { generateApiKey } from '../../shared/auth/api-key.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { runOnAccount, type InstallationWrites } from './account-writes.ts';

export interface OpenedAccount {
  readonly customerId: number;
  /** The account's first API key. Shown here once; only its hash is kept. */
  readonly apiKey: string;
}

export interface NewAccount {
  readonly name: string;
  /** The seller whose account it is; absent: a buyer's. */
  readonly sellerId?: number | undefined;
}

/**
 * Opens an account with a first user, an admin or a seller, and a first API key of theirs. The rows that the key is checked
 * against are written before the event, since a hash is in no event, and made live after it: a crash before the
 * event leaves rows that are no account and are swept (`retire-keys.ts`); after it, the read model of credentials
 * makes them live.
 */
export const openAccount = async (
  {
    store,
    pool,
    clock,
    nextCustomerId,
  }: InstallationWrites & { readonly nextCustomerId: () => Promise<number> },
  { name, sellerId }: NewAccount,
): Promise<OpenedAccount> => {
  const customerId = await nextCustomerId();
  const user = firstUser(customerId, sellerId);
  const { key, keyId, maskedKey, secretHash } = generateApiKey();
  const keyName = 'First key';
  const now = isoTimestamp(clock.now());
  await pool.query(
    `with account as (insert into accounts (customer_id, name, seller_id) values ($1, $2, $10)),
       first as (insert into users (customer_id, user_id, name, role) values ($1, $3, $11, $12))
     insert into api_keys (customer_id, user_id, key_id, secret_hash, name, masked_key, scopes, created_at)
     values ($1, $3, $4, $5, $6, $7, $8, $9)`,
    [
      customerId,
      name,
      user.userId,
      keyId,
      secretHash,
      keyName,
      maskedKey,
      scopesOfRole(user.role),
      now,
      sellerId,
      user.name,
      user.role,
    ],
  );
  const commandId = randomUUID();
  const firstKey = { keyId, name: keyName, maskedKey };
  const outcome = await runOnAccount(
    store,
    { type: 'OpenAccount', now, customerId, name, sellerId, firstKey },
    { commandId, customerId, actor: 'operator', requestId: commandId },
  );
  if (outcome.outcome === 'refused')
    throw new Error(`account ${customerId} exists already: the id sequence is behind the log`);
  // One row at a time: the read model may be writing the same two.
  await writeOpened(pool, [{ customerId, name, sellerId }]);
  await pool.query('update api_keys set announced = true where customer_id = $1 and key_id = $2', [
    customerId,
    keyId,
  ]);
  return { customerId, apiKey: key };
};
