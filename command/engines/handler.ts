import {
  ENGINE_CONNECTION,
  WHOLE_ACCOUNT,
  engineConnectionAggregate,
  type EngineConnectionRefusal,
} from '../../domain/engines/engine-connection.ts';
import { creativeEngines } from '../../domain/engines/creative-engines.ts';
import { connectionIdOf, type EngineConnection } from '../../domain/engines/resource.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import { notFound } from '../../shared/http/errors.ts';
import { refusals } from '../../shared/http/refusals.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { advertiserRefused } from '../advertisers/handler.ts';

export type ConnectionStores = Required<CommandStores>;

export const slotIdOf = (customerId: number, engineId: number): string =>
  resourceIdOf(ENGINE_CONNECTION, customerId, WHOLE_ACCOUNT, String(engineId));

const connectionRefused = refusals<EngineConnectionRefusal>({
  'not-found': () => notFound('connection'),
  'unknown-account': () => notFound('account of the connection'),
  'advertiser-archived': () => advertiserRefused({ reason: 'archived' }),
});

const connections = handlerFor(engineConnectionAggregate, connectionRefused);
export const { run: runOnConnection, doneBefore: connectionDoneBefore } = connections;

export const loadConnection = async (
  stores: CommandStores,
  customerId: number,
  slotId: string,
): Promise<EngineConnection | undefined> => {
  const state = await connections.load(stores, customerId, slotId);
  return state?.status === 'connected' ? state : undefined;
};

/** Reads one stream per engine. */
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
