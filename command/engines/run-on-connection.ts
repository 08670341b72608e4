import {
  ENGINE_CONNECTION,
  WHOLE_ACCOUNT,
  engineConnectionAggregate,
  type EngineConnectionRefusal,
} from '../../domain/engines/engine-connection.ts';
import type { EngineConnection } from '../../domain/engines/engine-connection-resource.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import { notFound, type ApiError } from '../../shared/http/errors.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { advertiserRefused } from '../advertisers/load.ts';

export type ConnectionStores = Required<CommandStores>;

/** One stream per account and engine, so that concurrent connects conflict. */
export const slotIdOf = (customerId: number, engineId: number): string =>
  resourceIdOf(ENGINE_CONNECTION, customerId, WHOLE_ACCOUNT, String(engineId));

const connectionRefused = ({ reason }: EngineConnectionRefusal): ApiError => {
  switch (reason) {
    case 'not-found':
      return notFound('connection');
    case 'unknown-account':
      return notFound('account of the connection');
    case 'advertiser-archived':
      return advertiserRefused({ reason: 'archived' });
    default:
      return reason satisfies never;
  }
};

const connections = handlerFor(engineConnectionAggregate, connectionRefused);
export const { run: runOnConnection, doneBefore: connectionDoneBefore } = connections;

/** The live connection of a slot; undefined when it has none. */
export const loadConnection = async (
  stores: CommandStores,
  customerId: number,
  slotId: string,
): Promise<EngineConnection | undefined> => {
  const state = await connections.load(stores, customerId, slotId);
  return state?.status === 'connected' ? state : undefined;
};
