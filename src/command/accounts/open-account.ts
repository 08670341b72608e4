import { accountEvents } from '../../domain/accounts/account-events.ts';
import { accountDecider, accountStream, firstUserId } from '../../domain/accounts/account.ts';
import { scopesOfRole } from '../../domain/accounts/access.ts';
import { generateApiKey } from '../../shared/auth/api-key.ts';
import { isoTimestamp } from '../../shared/clock.ts';
import { executeCommand } from '../../shared/command/execute-command.ts';
import { randomId } from '../../shared/ids.ts';
import type { InstallationWrites } from './account-writes.ts';

export interface OpenedAccount {
  readonly customerId: number;
  /** The account's first API key. Shown here once; only its hash is kept. */
  readonly apiKey: string;
}

/**
 * Opens an account with a first user, an admin, and a first API key of theirs. The rows that the key is checked
 * against are stored before the event that announces it: a crash in between leaves a key that nobody has ever
 * seen, never an announced one that does not work (faults.md e4).
 */
export const openAccount = async (
  {
    store,
    pool,
    clock,
    nextCustomerId,
  }: InstallationWrites & { readonly nextCustomerId: () => Promise<number> },
  name: string,
): Promise<OpenedAccount> => {
  const customerId = await nextCustomerId();
  const { key, keyId, maskedKey, secretHash } = generateApiKey();
  const keyName = 'First key';
  const now = isoTimestamp(clock.now());
  await pool.query(
    `with account as (insert into accounts (customer_id, name) values ($1, $2)),
       admin as (insert into users (customer_id, user_id, name, role) values ($1, $3, 'Administrator', 'admin'))
     insert into api_keys (customer_id, user_id, key_id, secret_hash, name, masked_key, scopes, created_at)
     values ($1, $3, $4, $5, $6, $7, $8, $9)`,
    [
      customerId,
      name,
      firstUserId(customerId),
      keyId,
      secretHash,
      keyName,
      maskedKey,
      scopesOfRole('admin'),
      now,
    ],
  );
  const commandId = randomId();
  const outcome = await executeCommand(
    store,
    { decider: accountDecider, events: accountEvents },
    {
      stream: accountStream(customerId),
      command: {
        type: 'OpenAccount',
        now,
        customerId,
        name,
        firstKey: { keyId, name: keyName, maskedKey },
      },
      context: { commandId, customerId, actor: 'operator', requestId: commandId },
    },
  );
  if (outcome.outcome === 'refused')
    throw new Error(`account ${customerId} exists already: the id sequence is behind the log`);
  return { customerId, apiKey: key };
};
