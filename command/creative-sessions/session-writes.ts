import { campaignIdOf, type Campaign } from '../../domain/campaigns/resource.ts';
import {
  sessionIdOf,
  type CreativeSession,
} from '../../domain/creative-sessions/creative-session-resource.ts';
import type { CreativeSessionRefusal } from '../../domain/creative-sessions/creative-session.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { openCampaign, type CreativeWrites } from '../creatives/creative-writes.ts';
import type { CreativeEngine, CreativeEngines } from './creative-engine.ts';
import { creativeSessionRefused, noConnection } from './creative-session-refusals.ts';
import { doneBefore, loadSession } from './run-on-session.ts';

export interface SessionWrites extends CreativeWrites {
  readonly engines: CreativeEngines;
}

export interface SessionPath {
  readonly id: string;
  readonly sid: string;
}

/** @throws ApiError NOT_FOUND, also when the session belongs to another campaign */
export const findSession = async (
  writes: SessionWrites,
  { id, sid }: SessionPath,
  { principal: { customerId } }: RequestContext,
): Promise<CreativeSession> => {
  const sessionId = sessionIdOf(sid);
  const session = sessionId === undefined ? undefined : await loadSession(writes, customerId, sessionId);
  if (session === undefined || session.campaignId !== campaignIdOf(id)) {
    throw creativeSessionRefused({ reason: 'not-found' });
  }
  return session;
};

export type StartedChange =
  | { readonly done: CreativeSession }
  | { readonly done: undefined; readonly session: CreativeSession; readonly campaign: Campaign };

/**
 * Loads the session of a change, in an open campaign. A repeat of a completed request returns its result, even if
 * campaign or advertiser have changed since.
 * @throws ApiError NOT_FOUND, CONFLICT (campaign closed, advertiser archived)
 */
export const beginChange = async (
  writes: SessionWrites,
  path: SessionPath,
  request: RequestContext,
): Promise<StartedChange> => {
  const session = await findSession(writes, path, request);
  const done = await doneBefore(writes, session.sessionId, request);
  if (done !== undefined) return { done };
  const campaign = await openCampaign(writes, request.principal.customerId, path.id);
  return { done: undefined, session, campaign };
};

export const refuseFor = (refusal: CreativeSessionRefusal | undefined): void => {
  if (refusal !== undefined) throw creativeSessionRefused(refusal);
};

/** @throws ApiError CONFLICT when the session's connection has ended */
export const engineOfSession = async (
  { engines }: SessionWrites,
  { customerId, connectionId }: CreativeSession,
): Promise<CreativeEngine> => {
  const engine = await engines.engineOf(customerId, connectionId);
  if (engine === undefined) throw noConnection(connectionId);
  return engine;
};
