import {
  whyNotFinalize,
  whyNotRefine,
  whyNotEvaluate,
  notEvaluatedAt,
} from '../../domain/creative-sessions/creative-session.ts';
import type {
  FinalizeSessionBody,
  RefineVariantBody,
  StartCreativeSessionBody,
} from '../../domain/creative-sessions/input.ts';
import {
  creativeSessionFields,
  variantIdOf,
  type CreativeSession,
} from '../../domain/creative-sessions/resource.ts';
import { newNames } from '../../domain/creatives/creative-names.ts';
import type { Creative } from '../../domain/creatives/resource.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { createGenerated } from '../creatives/create-creative.ts';
import { openCampaign } from '../creatives/handler.ts';
import { loadCreative } from '../creatives/handler.ts';
import { askEngine, briefOf, evaluationsOf, GeneratedCopies, RefinedCopy } from './creative-engine.ts';
import {
  beginChange,
  createSession,
  creativeSessionRefused,
  doneBefore,
  engineOfSession,
  findSession,
  refuseFor,
  runOnSession,
  type SessionPath,
  type SessionWrites,
} from './handler.ts';

/**
 * Asks the engine before the event, so that every session has variants.
 * @throws ApiError NOT_FOUND (campaign, connection), CONFLICT (closed, archived), SERVICE_UNAVAILABLE
 *   (engine)
 */
export const startSession = async (
  writes: SessionWrites,
  shownCampaignId: string,
  {
    title,
    prompt,
    connectionId,
    formatKind = creativeSessionFields.formatKind.initial,
  }: StartCreativeSessionBody,
  request: RequestContext,
): Promise<CreativeSession> => {
  const { customerId } = request.principal;
  const sessionId = derivedId(request.commandId, 'creative-session');
  const done = await doneBefore(writes, sessionId, request);
  if (done !== undefined) return done;
  const { campaignId } = await openCampaign(writes, customerId, shownCampaignId);
  const engine = await writes.engines.engineOf(customerId, connectionId);
  if (engine === undefined) {
    throw new ApiError({ ...notFound('live creative-engine connection').body, field: 'connectionId' });
  }
  const brief = { title, prompt, formatKind };
  const copies = await askEngine(GeneratedCopies, request.commandId, (call) => engine.generate(brief, call));
  const variants = copies.map((copy, n) => ({
    variantId: derivedId(request.commandId, `variant-${n}`),
    copy,
  }));
  const now = isoTimestamp(writes.clock.now());
  const session = omitUndefined({
    sessionId,
    customerId,
    campaignId,
    title,
    prompt,
    connectionId,
    formatKind,
    variants,
  });
  return createSession(writes, sessionId, { type: 'StartSession', now, session }, request);
};

/** For a malformed id, one that no variant has. */
const variantIdIn = (shownId: string): string => variantIdOf(shownId) ?? '';

/**
 * The session is checked before the engine call, and again by the command.
 * @throws ApiError NOT_FOUND, CONFLICT (stale, finalized, too many, campaign closed), SERVICE_UNAVAILABLE
 *   (engine)
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

/** @throws ApiError NOT_FOUND, CONFLICT (finalized, too many, closed), SERVICE_UNAVAILABLE (engine) */
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

/**
 * Creates a creative from one variant, then closes the session. The creative's id derives from the session:
 * one of several concurrent requests creates it, and any repeat after a crash finds it and closes the
 * session. Closing cannot fail: a variant that could be finalized once always can (`whyNotFinalize`). In the
 * other order a crash could leave a closed session whose creative's name is taken since, or whose campaign is
 * over.
 * @throws ApiError NOT_FOUND, CONFLICT (neither evaluated nor selected, another variant finalized, name
 *   taken, campaign closed, advertiser archived)
 */
export const finalizeSession = async (
  writes: SessionWrites,
  path: SessionPath,
  { variantId: shownVariantId, name }: FinalizeSessionBody,
  request: RequestContext,
): Promise<{ readonly session: CreativeSession; readonly creativeId: string }> => {
  const session = await findSession(writes, path, request);
  const { customerId, sessionId } = session;
  const variantId = variantIdIn(shownVariantId);
  const refusal = whyNotFinalize(session, variantId);
  if (refusal?.reason === 'unknown-variant') {
    throw new ApiError({ ...creativeSessionRefused(refusal).body, field: 'variantId' });
  }
  refuseFor(refusal);
  const creativeId = derivedId(sessionId, 'creative');
  const creative =
    (await loadCreative(writes, customerId, creativeId)) ??
    (await createOf(writes, path, session, { variantId, creativeId, name }, request));
  const madeOf = creative.madeIn?.variantId ?? '';
  if (madeOf !== variantId) {
    throw creativeSessionRefused({ reason: 'finalized', variantId: madeOf, creativeId });
  }
  const now = isoTimestamp(writes.clock.now());
  const finalized = await runOnSession(
    writes,
    sessionId,
    { type: 'FinalizeSession', now, variantId, creativeId },
    { ...request, commandId: derivedId(request.commandId, 'finalize-session') },
  );
  return { session: finalized, creativeId };
};

const createOf = async (
  writes: SessionWrites,
  { id }: SessionPath,
  { sessionId, variants, title, formatKind }: CreativeSession,
  {
    variantId,
    creativeId,
    name,
  }: Record<'variantId' | 'creativeId', string> & Pick<FinalizeSessionBody, 'name'>,
  request: RequestContext,
): Promise<Creative> => {
  const campaign = await openCampaign(writes, request.principal.customerId, id);
  const copy = variants.find((variant) => variant.variantId === variantId)?.copy ?? {};
  return createGenerated(
    writes,
    campaign,
    {
      creativeId,
      madeIn: { sessionId, variantId },
      wanted: name === undefined ? { names: newNames(title) } : { name },
      body: { formatKind, copy },
    },
    request,
  );
};
