import {
  variantIdOf,
  type CreativeSession,
} from '../../domain/creative-sessions/creative-session-resource.ts';
import {
  notEvaluatedAt,
  whyNotEvaluate,
  whyNotRefine,
} from '../../domain/creative-sessions/creative-session.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { askEngine, briefOf, evaluationsOf, RefinedCopy } from './creative-engine.ts';
import type { RefineVariantBody } from './creative-session-input.ts';
import { runOnSession } from './run-on-session.ts';
import {
  beginChange,
  engineOfSession,
  refuseFor,
  type SessionPath,
  type SessionWrites,
} from './session-writes.ts';

/** The UUID of a variant, or for a malformed id one that no variant has. */
export const variantIdIn = (shownId: string): string => variantIdOf(shownId) ?? '';

/**
 * Creates another variant from one and feedback. The session is checked before the engine call, and again afterwards
 * by the command.
 * @throws ApiError NOT_FOUND, CONFLICT (stale, finalized, too many, campaign closed), SERVICE_UNAVAILABLE (engine)
 */
export const refineVariant = async (
  writes: SessionWrites,
  path: SessionPath & { readonly variantId: string },
  { feedback, expectedRevision }: RefineVariantBody,
  request: RequestContext,
): Promise<CreativeSession> => {
  const started = await beginChange(writes, path, request);
  if (started.done !== undefined) return started.done;
  const { session } = started;
  const variantId = variantIdIn(path.variantId);
  const wanted = { variantId, expectedRevision };
  refuseFor(whyNotRefine(session, wanted));
  const copy = session.variants.find((variant) => variant.variantId === variantId)?.copy ?? {};
  const engine = await engineOfSession(writes, session);
  const refined = await askEngine(RefinedCopy, request.commandId, (call) =>
    engine.refine(briefOf(session), { copy, feedback }, call),
  );
  return runOnSession(
    writes,
    session.sessionId,
    {
      type: 'RefineVariant',
      now: isoTimestamp(writes.clock.now()),
      ...wanted,
      feedback,
      refined: { variantId: derivedId(request.commandId, 'variant'), copy: refined },
    },
    request,
  );
};

/**
 * Evaluates the variants that have no evaluation for the stage; without such variants nothing happens.
 * @throws ApiError NOT_FOUND, CONFLICT (finalized, too many, campaign closed), SERVICE_UNAVAILABLE (engine)
 */
export const evaluateSession = async (
  writes: SessionWrites,
  path: SessionPath,
  stage: string,
  request: RequestContext,
): Promise<CreativeSession> => {
  const started = await beginChange(writes, path, request);
  if (started.done !== undefined) return started.done;
  const { session } = started;
  refuseFor(whyNotEvaluate(session, stage));
  const left = notEvaluatedAt(session, stage);
  const evaluations = left.length === 0 ? [] : await evaluationsBy(writes, session, { stage, left }, request);
  const now = isoTimestamp(writes.clock.now());
  const command = { type: 'EvaluateVariants', now, stage, evaluations } as const;
  return runOnSession(writes, session.sessionId, command, request);
};

const evaluationsBy = async (
  writes: SessionWrites,
  session: CreativeSession,
  { stage, left }: { readonly stage: string; readonly left: CreativeSession['variants'] },
  { commandId }: RequestContext,
) => {
  const engine = await engineOfSession(writes, session);
  const copies = left.map(({ copy }) => copy);
  const evaluated = await askEngine(evaluationsOf(left.length), commandId, (call) =>
    engine.evaluate(briefOf(session), { stage, copies }, call),
  );
  return evaluated.map(({ index, score, notes }) =>
    omitUndefined({ variantId: left[index]?.variantId ?? '', score, notes }),
  );
};
