import { campaignIdOf, type Campaign } from '../../domain/campaigns/resource.ts';
import {
  creativeSessionAggregate,
  type CreativeSessionRefusal,
} from '../../domain/creative-sessions/creative-session.ts';
import {
  sessionIdOf,
  shownVariantId,
  type CreativeSession,
} from '../../domain/creative-sessions/resource.ts';
import { shownCreativeId } from '../../domain/creatives/resource.ts';
import { handlerFor } from '../../shared/aggregate/handler-for.ts';
import { alreadyExists, ApiError, conflict, notFound, staleRevision } from '../../shared/http/errors.ts';
import { refusals } from '../../shared/http/refusals.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { openCampaign, type CreativeWrites } from '../creatives/handler.ts';
import type { CreativeEngine, CreativeEngines } from './creative-engine.ts';

export const creativeSessionRefused = refusals<CreativeSessionRefusal>({
  'not-found': () => notFound('creative session'),
  'already-exists': () => alreadyExists('creative session'),
  'unknown-variant': () => notFound('variant of the creative session'),
  'not-chosen': () =>
    conflict('The variant is neither evaluated nor selected. Evaluate the session, or refine it, first.'),
  finalized: ({ variantId, creativeId }) =>
    conflictWith('The creative session is finalized and read-only. Start another one.', {
      variantId: shownVariantId(variantId),
      creativeId: shownCreativeId(creativeId),
    }),
  'too-many-variants': ({ limit }) =>
    conflictWith(
      `The creative session has ${limit} variants, which is the limit. Finalize one, or start another session.`,
      { limit },
    ),
  'too-many-stages': ({ limit }) =>
    conflictWith(
      `The creative session is evaluated at ${limit} stages, which is the limit. Name one of them.`,
      { limit },
    ),
  stale: ({ expectedRevision, currentRevision }) =>
    staleRevision('creative session', expectedRevision, currentRevision),
});

const conflictWith = (message: string, details: object): ApiError =>
  new ApiError({ code: 'CONFLICT', message, details });

export const {
  run: runOnSession,
  create: createSession,
  load: loadSession,
  doneBefore,
} = handlerFor(creativeSessionAggregate, creativeSessionRefused);

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

/** A repeat of a completed request gets its result anyway. @throws ApiError NOT_FOUND, CONFLICT */
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
  if (engine !== undefined) return engine;
  throw conflictWith(
    "The session's creative-engine connection has ended. Start another session, or finalize this one.",
    { connectionId },
  );
};
