import { campaignIdOf, type Campaign } from '../../domain/campaigns/campaign-resource.ts';
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

/** Where a session is, as its path shows it. */
export interface SessionPath {
  readonly id: string;
  readonly sid: string;
}

/** @throws ApiError NOT_FOUND, also when it is not in that campaign */
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

/** What a change of a session begins with. */
export type Begun =
  | { readonly done: CreativeSession }
  | { readonly done: undefined; readonly session: CreativeSession; readonly campaign: Campaign };

/**
 * Finds the session of a request that changes it, in a campaign that is open. Done once, it answers with what it came
 * to, whatever has become of campaign and advertiser since.
 * @throws ApiError NOT_FOUND, CONFLICT (campaign closed, advertiser archived)
 */
export const beginChange = async (
  writes: SessionWrites,
  path: SessionPath,
  request: RequestContext,
): Promise<Begun> => {
  const session = await findSession(writes, path, request);
  const done = await doneBefore(writes, session.sessionId, request);
  if (done !== undefined) return { done };
  const campaign = await openCampaign(writes, request.principal.customerId, path.id);
  return { done: undefined, session, campaign };
};

/** @throws ApiError when there is a reason */
export const refuseFor = (refusal: CreativeSessionRefusal | undefined): void => {
  if (refusal !== undefined) throw creativeSessionRefused(refusal);
};

/** @throws ApiError CONFLICT when its connection is not live any more */
export const engineOfSession = async (
  { engines }: SessionWrites,
  { customerId, connectionId }: CreativeSession,
): Promise<CreativeEngine> => {
  const engine = await engines.engineOf(customerId, connectionId);
  if (engine === undefined) throw noConnection(connectionId);
  return engine;
};
