import { randomUUID } from 'node:crypto';
import { firstUser } from '../../domain/accounts/account.ts';
import { scopesOfRole } from '../../domain/accounts/access.ts';
import { generateApiKey } from '../../shared/secrets/api-key.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { runOnAccount, type AccountRows, type InstallationWrites } from './handler.ts';

export interface OpenedAccount {
  readonly customerId: number;
  /** Stored only as a hash. */
  readonly apiKey: string;
}

export interface NewAccount {
  readonly name: string;
  readonly sellerId?: number | undefined;
  readonly customerDomain?: string | undefined;
}

/** Opens an account with its first user and key. For the order of row and event see `issueApiKey`. */
export const openAccount = async (
  {
    store,
    pool,
    clock,
    rows,
    nextCustomerId,
  }: InstallationWrites & { readonly rows: AccountRows; readonly nextCustomerId: () => Promise<number> },
  { name, sellerId, customerDomain }: NewAccount,
): Promise<OpenedAccount> => {
  const customerId = await nextCustomerId();
  const user = firstUser(customerId, sellerId);
  const { key, keyId, maskedKey, secretHash } = generateApiKey();
  const keyName = 'First key';
  const now = isoTimestamp(clock.now());
  await pool.query(
    `insert into api_keys (customer_id, user_id, key_id, secret_hash, name, masked_key, scopes, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [customerId, user.userId, keyId, secretHash, keyName, maskedKey, scopesOfRole(user.role), now],
  );
  const commandId = randomUUID();
  const firstKey = { keyId, name: keyName, maskedKey };
  const outcome = await runOnAccount(
    { store },
    { type: 'OpenAccount', now, customerId, name, sellerId, customerDomain, firstKey },
    { commandId, customerId, actor: 'operator', requestId: commandId },
  );
  if (outcome.outcome === 'refused')
    throw new Error(`account ${customerId} exists already: the id sequence is behind the log`);
  // Separate statements: the read model may lock the same two rows in another order.
  await rows.writeOpened([{ customerId, name, sellerId, customerDomain }]);
  await rows.writeUsers([{ customerId, ...user, revision: 0, addedAt: now }]);
  await pool.query('update api_keys set announced = true where customer_id = $1 and key_id = $2', [
    customerId,
    keyId,
  ]);
  return { customerId, apiKey: key };
};
