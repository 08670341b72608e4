import { engineConnectionEvents } from '../../domain/engines/engine-connection-events.ts';
import type { EngineConnection } from '../../domain/engines/engine-connection-resource.ts';
import {
  ENGINE_CONNECTION,
  engineConnectionDecider,
  engineConnectionStream,
  type EngineConnectionCommand,
  type EngineConnectionRefusal,
} from '../../domain/engines/engine-connection.ts';
import { executeCommand, loadState, wasDoneBefore } from '../../shared/command/execute-command.ts';
import type { SnapshotStore } from '../../shared/command/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { notFound, type ApiError } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { resourceIdOf } from '../../shared/ids.ts';
import { advertiserRefused } from '../advertisers/advertiser-refusals.ts';

export interface ConnectionStores {
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
}

const aggregate = { decider: engineConnectionDecider, events: engineConnectionEvents };

/** Of no advertiser, but of the account itself. */
const WHOLE_ACCOUNT = 0;

/** The account's place for an engine: there all meet that connect at once. */
export const slotIdOf = (customerId: number, engineId: number): string =>
  resourceIdOf(ENGINE_CONNECTION, customerId, WHOLE_ACCOUNT, String(engineId));

/**
 * A command of a request on the connection of an account to an engine.
 * @throws ApiError when it is refused; then nothing was written
 */
export const runOnConnection = async (
  { store, snapshots }: ConnectionStores,
  engineId: number,
  command: EngineConnectionCommand,
  { commandId, requestId, isAbandoned, hasRunBefore, principal: { customerId, actor } }: RequestContext,
): Promise<EngineConnection> => {
  const outcome = await executeCommand(store, aggregate, {
    stream: engineConnectionStream(customerId, slotIdOf(customerId, engineId)),
    command,
    context: { commandId, customerId, actor, requestId },
    isAbandoned,
    snapshots,
    hasRunBefore,
  });
  if (outcome.outcome === 'refused') throw connectionRefused(outcome.refusal);
  if (outcome.state.status === 'none') throw notFound('connection');
  return outcome.state;
};

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

/** Whether an earlier run of the request has done what it asks for. */
export const isDoneBefore = (
  { store, snapshots }: ConnectionStores,
  engineId: number,
  { commandId, hasRunBefore, principal: { customerId } }: RequestContext,
): Promise<boolean> =>
  wasDoneBefore(store, aggregate, engineConnectionStream(customerId, slotIdOf(customerId, engineId)), {
    commandId,
    snapshots,
    hasRunBefore,
  });

/**
 * The live connection in a place, as its stream says now; undefined when there is none.
 * @param slotId UUID
 */
export const loadConnection = async (
  { store, snapshots }: ConnectionStores,
  customerId: number,
  slotId: string,
): Promise<EngineConnection | undefined> => {
  const stream = engineConnectionStream(customerId, slotId);
  const state = await loadState(store, aggregate, stream, snapshots);
  return state.status === 'connected' ? state : undefined;
};
