import { randomUUID } from 'node:crypto';
import { ENGINE_CONNECTION } from '../../domain/engines/engine-connection.ts';
import { connectionIdOf, maskedKeyOf, type EngineConnection } from '../../domain/engines/resource.ts';
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
} from './handler.ts';
import type { VerifyKey } from './verify-key.ts';

export interface ConnectionWrites extends ConnectionStores {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  readonly secrets: SecretStore;
  readonly verifyKey: VerifyKey;
}

export interface ConnectRequest {
  readonly engineId: number;
  readonly apiKey: string;
  /** As the API shows it. Default: the live connection, or a new one. */
  readonly connectionId?: string | undefined;
}

/**
 * Stores the encrypted key before its event, under an id that is new for each run. A crash leaves a key that
 * a sweep deletes, never a connection without a key. A stalled run cannot change the key of another run's
 * event.
 * @throws ApiError NOT_FOUND (no such live connection), VALIDATION_ERROR (the engine refuses the key),
 *   SERVICE_UNAVAILABLE; except after the last one, nothing is stored
 */
export const connectEngine = async (
  writes: ConnectionWrites,
  { engineId, apiKey, connectionId: shownId }: ConnectRequest,
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
  if (!isRepeat) {
    await writes.secrets.put(customerId, secretId, apiKey, { kind: ENGINE_CONNECTION, id: slotId });
  }
  const connectionId = derivedId(commandId, 'connection');
  const maskedKey = maskedKeyOf(apiKey);
  const credential = { secretId, maskedKey, accounts: [...accounts], connectedBy: actor };
  const command = {
    type: 'ConnectEngine',
    now: isoTimestamp(writes.clock.now()),
    connection: { slotId, connectionId, customerId, engineId, ...credential },
    wanted,
  } as const;
  const connection = await runOnConnection(writes, slotId, command, request).catch(async (error: unknown) => {
    // The connection was ended after the check above.
    if (!(error instanceof ApiError) || !error.hadNoEffect) throw error;
    await forget(writes, customerId, secretId);
    throw unknownConnection();
  });
  await forget(writes, customerId, connection.replacedSecretId);
  return { connection, isNew: connection.connectionId === connectionId };
};

/** If this fails, a sweep deletes the key later. */
export const forget = async (
  { secrets, log }: Pick<ConnectionWrites, 'secrets' | 'log'>,
  customerId: number,
  secretId: string | undefined,
): Promise<void> => {
  if (secretId === undefined) return;
  await secrets.remove(customerId, secretId).catch((error: unknown) => {
    log.warn({ err: error, customerId, secretId }, 'an unreferenced secret could not be deleted');
  });
};

const unknownConnection = (): ApiError =>
  new ApiError({ ...notFound('connection').body, field: 'connectionId' });
