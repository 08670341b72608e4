import { creativeSessionEvents } from '../../domain/creative-sessions/creative-session-events.ts';
import type { CreativeSession } from '../../domain/creative-sessions/creative-session-resource.ts';
import {
  creativeSessionDecider,
  creativeSessionStream,
  type CreativeSessionCommand,
} from '../../domain/creative-sessions/creative-session.ts';
import { executeCommand, loadState } from '../../shared/command/execute-command.ts';
import { loadStream } from '../../shared/command/load-stream.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import type { CampaignStores } from '../campaigns/run-on-campaign.ts';
import { creativeSessionRefused } from './creative-session-refusals.ts';

type Stores = Pick<CampaignStores, 'store' | 'snapshots'>;

const aggregate = { decider: creativeSessionDecider, events: creativeSessionEvents };

/**
 * A command of a request on one creative session.
 * @returns the session after it
 * @throws ApiError when it is refused
 */
export const runOnSession = async (
  { store, snapshots }: Stores,
  sessionId: string,
  command: CreativeSessionCommand,
  { commandId, requestId, isAbandoned, hasRunBefore, principal: { customerId, actor } }: RequestContext,
  isNew = false,
): Promise<CreativeSession> => {
  const outcome = await executeCommand(store, aggregate, {
    stream: creativeSessionStream(customerId, sessionId),
    command,
    context: { commandId, customerId, actor, requestId },
    isNew,
    isAbandoned,
    snapshots,
    hasRunBefore,
  });
  if (outcome.outcome === 'refused') throw creativeSessionRefused(outcome.refusal);
  if (outcome.state.status === 'none') throw creativeSessionRefused({ reason: 'not-found' });
  return outcome.state;
};

/** A session as its stream says now; undefined when there is none. */
export const loadSession = async (
  { store, snapshots }: Stores,
  customerId: number,
  sessionId: string,
): Promise<CreativeSession | undefined> => {
  const stream = creativeSessionStream(customerId, sessionId);
  const state = await loadState(store, aggregate, stream, snapshots);
  return state.status === 'none' ? undefined : state;
};

/**
 * What an earlier run of the request has made of the session, if there was one: then no engine is asked again, and
 * nothing that is needed before is needed any more.
 */
export const doneBefore = async (
  { store, snapshots }: Stores,
  sessionId: string,
  { commandId, hasRunBefore, principal: { customerId } }: RequestContext,
): Promise<CreativeSession | undefined> => {
  if (!(await hasRunBefore())) return undefined;
  const stream = creativeSessionStream(customerId, sessionId);
  const { afterCommand } = await loadStream(store, aggregate, stream, { commandId, snapshots, hasRunBefore });
  if (afterCommand === undefined || afterCommand.state.status === 'none') return undefined;
  // That run may have ended before its write was marked for the reads of the account.
  await store.ensureMarked(customerId, afterCommand.position, stream);
  return afterCommand.state;
};
