import {
  ENGINE_CONNECTION,
  engineConnectionAggregate,
  type EngineConnectionRefusal,
} from '../../domain/engines/engine-connection.ts';
import type { EngineConnection } from '../../domain/engines/engine-connection-resource.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import { notFound, type ApiError } from '../../shared/http/errors.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { advertiserRefused } from '../advertisers/load.ts';

export type ConnectionStores = Required<CommandStores>;

/** Of no advertiser, but of the account itself. */
const WHOLE_ACCOUNT = 0;

/** The account's place for an engine: there all meet that connect at once. */
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

/**
 * The live connection in a place, as its stream says now; undefined when there is none.
 * @param slotId UUID
 */
export const loadConnection = async (
  stores: CommandStores,
  customerId: number,
  slotId: string,
): Promise<EngineConnection | undefined> => {
  const state = await connections.load(stores, customerId, slotId);
  return state?.status === 'connected' ? state : undefined;
};
