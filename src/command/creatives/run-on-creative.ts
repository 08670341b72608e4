import { creativeEvents } from '../../domain/creatives/creative-events.ts';
import type { Creative } from '../../domain/creatives/creative-resource.ts';
import {
  creativeDecider,
  creativeStream,
  type CreativeCommand,
  type CreativeRefusal,
  type CreativeStateOf,
} from '../../domain/creatives/creative.ts';
import {
  executeCommand,
  loadState,
  wasDoneBefore,
  type ExecuteOptions,
  type Outcome,
} from '../../shared/command/execute-command.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import type { CampaignStores } from '../campaigns/run-on-campaign.ts';
import { creativeRefused } from './creative-refusals.ts';

type Stores = Pick<CampaignStores, 'store' | 'snapshots'>;

const aggregate = { decider: creativeDecider, events: creativeEvents, foldVersion: 2 };

/** A command on one creative, of the account that the context names. */
export const executeOnCreative = (
  { store, snapshots }: Stores,
  creativeId: string,
  command: CreativeCommand,
  options: Omit<ExecuteOptions<CreativeCommand>, 'stream' | 'command' | 'snapshots'>,
): Promise<Outcome<CreativeStateOf, CreativeRefusal>> =>
  executeCommand(store, aggregate, {
    stream: creativeStream(options.context.customerId, creativeId),
    command,
    snapshots,
    ...options,
  });

/** A command of a request on one creative. */
export const runOnCreative = (
  stores: Stores,
  creativeId: string,
  command: CreativeCommand,
  { commandId, requestId, isAbandoned, hasRunBefore, principal: { customerId, actor } }: RequestContext,
): Promise<Outcome<CreativeStateOf, CreativeRefusal>> =>
  executeOnCreative(stores, creativeId, command, {
    context: { commandId, customerId, actor, requestId },
    isAbandoned,
    hasRunBefore,
  });

/** @throws ApiError when it is refused */
export const creativeOf = (outcome: Outcome<CreativeStateOf, CreativeRefusal>): Creative => {
  if (outcome.outcome === 'refused') throw creativeRefused(outcome.refusal);
  if (outcome.state.state === 'none') throw creativeRefused({ reason: 'not-found' });
  return outcome.state;
};

/** A creative as its stream says now; undefined when there is none. */
export const loadCreative = async (
  { store, snapshots }: Stores,
  customerId: number,
  creativeId: string,
): Promise<Creative | undefined> => {
  const state = await loadState(store, aggregate, creativeStream(customerId, creativeId), snapshots);
  return state.state === 'none' ? undefined : state;
};

/** Whether an earlier run of the request has done what it asks for. */
export const isDoneBefore = (
  { store, snapshots }: Stores,
  creativeId: string,
  { commandId, hasRunBefore, principal: { customerId } }: RequestContext,
): Promise<boolean> =>
  wasDoneBefore(store, aggregate, creativeStream(customerId, creativeId), {
    commandId,
    snapshots,
    hasRunBefore,
  });
