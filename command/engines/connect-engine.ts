import { randomUUID } from 'node:crypto';
import { ENGINE_CONNECTION } from '../../domain/engines/engine-connection.ts';
import {
  connectionIdOf,
  maskedKeyOf,
  type EngineConnection,
} from '../../domain/engines/engine-connection-resource.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import type { Logger } from 'pino';
import type { SecretStore } from '../../shared/secrets/secret-store.ts';
import {
  connectionDoneBefore,
  loadConnection,
  runOnConnection,
  slotIdOf,
  type ConnectionStores,
} from './run-on-connection.ts';
import type { VerifyKey } from './verify-key.ts';

export interface ConnectionWrites extends ConnectionStores {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  readonly secrets: SecretStore;
  readonly verifyKey: VerifyKey;
}

export interface Connecting {
  readonly engineId: number;
  readonly apiKey: string;
  /** As buyers know it. Default: whichever lives, or a new one. */
  readonly connectionId?: string | undefined;
}

/**
 * Connects an account to an engine with its own key, or gives the live connection that key.
 *
 * The key is kept, encrypted, before the event that names it: what a crash leaves behind is a key that nothing leads
 * to, which is swept away, and never a connection without its key. The key that is replaced goes after the event, for
 * the same reason. A repeat whose event is there asks the engine nothing and keeps nothing: neither would change
 * anything.
 *
 * Each run keeps its key under an id of its own. Under one that followed from the command, a run that had stalled after
 * it asked the engine would put its key over the one that another run of the same command has named since, or take it
 * away. The event says which run's key it is; the other's is swept away.
 * @returns the connection, and whether it is a new one
 * @throws ApiError NOT_FOUND (no such live connection), VALIDATION_ERROR (the engine does not take the key),
 *   SERVICE_UNAVAILABLE; but for the last one nothing is stored then
 */
export const connectEngine = async (
  writes: ConnectionWrites,
  { engineId, apiKey, connectionId: shownId }: Connecting,
  request: RequestContext,
): Promise<{ readonly connection: EngineConnection; readonly isNew: boolean }> => {
  const { commandId, principal } = request;
  const { customerId, actor } = principal;
  const slotId = slotIdOf(customerId, engineId);
  const wanted = shownId === undefined ? undefined : connectionIdOf(shownId);
  if (shownId !== undefined && wanted === undefined) throw unknownConnection();
  const isRepeat = (await connectionDoneBefore(writes, slotId, request)) !== undefined;
  if (!isRepeat && wanted !== undefined) {
    const live = await loadConnection(writes, customerId, slotId);
    if (live?.connectionId !== wanted) throw unknownConnection();
  }
  const accounts = isRepeat ? [] : await writes.verifyKey(engineId, apiKey);
  const secretId = randomUUID();
  if (!isRepeat)
    await writes.secrets.put(customerId, secretId, apiKey, { kind: ENGINE_CONNECTION, id: slotId });
  const connectionId = derivedId(commandId, 'connection');
  const credential = {
    secretId,
    maskedKey: maskedKeyOf(apiKey),
    accounts: [...accounts],
    connectedBy: actor,
  };
  const command = {
    type: 'ConnectEngine',
    now: isoTimestamp(writes.clock.now()),
    connection: { slotId, connectionId, customerId, engineId, ...credential },
    wanted,
  } as const;
  const connection = await runOnConnection(writes, slotId, command, request).catch(async (error: unknown) => {
    // It has been disconnected since it was looked for.
    if (!(error instanceof ApiError) || !error.hadNoEffect) throw error;
    await forget(writes, customerId, secretId);
    throw unknownConnection();
  });
  await forget(writes, customerId, connection.replacedSecretId);
  return { connection, isNew: connection.connectionId === connectionId };
};

/**
 * Takes away a key that nothing leads to any more. What cannot be taken away now is swept away later, so that whoever
 * asked is told what became of the connection.
 */
export const forget = async (
  { secrets, log }: Pick<ConnectionWrites, 'secrets' | 'log'>,
  customerId: number,
  secretId: string | undefined,
): Promise<void> => {
  if (secretId === undefined) return;
  await secrets.remove(customerId, secretId).catch((error: unknown) => {
    log.warn({ err: error, customerId, secretId }, 'a secret that nothing leads to was not removed');
  });
};

const unknownConnection = (): ApiError =>
  new ApiError({ ...notFound('connection').body, field: 'connectionId' });
