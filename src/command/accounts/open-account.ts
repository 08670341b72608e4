import type { Pool } from 'pg';
import { accountEvents } from '../../domain/accounts/account-events.ts';
import { accountDecider, accountStream } from '../../domain/accounts/account.ts';
import { generateApiKey } from '../../shared/auth/api-key.ts';
import { isoTimestamp, type Clock } from '../../shared/clock.ts';
import { executeCommand } from '../../shared/command/execute-command.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { randomId } from '../../shared/ids.ts';

export interface AccountWrites {
  readonly store: EventStore;
  readonly pool: Pool;
  readonly clock: Clock;
  readonly nextCustomerId: () => Promise<number>;
}

export interface OpenedAccount {
  readonly customerId: number;
  /** The account's first API key. Shown here once; only its hash is kept. */
  readonly apiKey: string;
}

/**
 * Opens an account with a first API key. The key's hash is stored before the event that announces it: a
 * crash in between leaves a key that nobody has ever seen, never an announced one that does not work.
 */
export const openAccount = async (
  { store, pool, clock, nextCustomerId }: AccountWrites,
  name: string,
): Promise<OpenedAccount> => {
  const customerId = await nextCustomerId();
  const { key, keyId, maskedKey, secretHash } = generateApiKey();
  const keyName = 'First key';
  await pool.query('insert into api_keys (key_id, customer_id, secret_hash, name) values ($1, $2, $3, $4)', [
    keyId,
    customerId,
    secretHash,
    keyName,
  ]);
  const commandId = randomId();
  const outcome = await executeCommand(
    store,
    { decider: accountDecider, events: accountEvents },
    {
      stream: accountStream(customerId),
      command: {
        type: 'OpenAccount',
        now: isoTimestamp(clock.now()),
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
