import { connectionIdOf, type EngineConnection } from '../../domain/engines/engine-connection-resource.ts';
import { creativeEngines } from '../../domain/engines/engine-resource.ts';
import type { CommandStores } from '../../shared/aggregate/handler-for.ts';
import { loadConnection, slotIdOf } from './run-on-connection.ts';

/**
 * An account's live connection by its public id; undefined when it does not exist or has ended. Reads one stream per
 * engine.
 */
export const findLiveConnection = async (
  stores: CommandStores,
  customerId: number,
  shownId: string,
): Promise<EngineConnection | undefined> => {
  const connectionId = connectionIdOf(shownId);
  if (connectionId === undefined) return undefined;
  const live = await Promise.all(
    creativeEngines.map(({ id }) => loadConnection(stores, customerId, slotIdOf(customerId, id))),
  );
  return live.find((connection) => connection?.connectionId === connectionId);
};
