import type { CreativeSession } from '../../domain/creative-sessions/creative-session-resource.ts';
import { whyNotFinalize } from '../../domain/creative-sessions/creative-session.ts';
import { newNames } from '../../domain/creatives/creative-names.ts';
import type { Creative } from '../../domain/creatives/creative-resource.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { ApiError } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { createGenerated } from '../creatives/create-creative.ts';
import { openCampaign } from '../creatives/creative-writes.ts';
import { loadCreative } from '../creatives/run-on-creative.ts';
import { wantedVariant } from './change-session.ts';
import type { FinalizeSessionBody } from './creative-session-input.ts';
import { creativeSessionRefused } from './creative-session-refusals.ts';
import { runOnSession } from './run-on-session.ts';
import { findSession, refuseFor, type SessionPath, type SessionWrites } from './session-writes.ts';

/**
 * Ends a session in one of its variants: a creative is made of it, then the session is closed. Two streams, and no
 * transaction spans them.
 *
 * The creative's id follows from the session alone, so that its creation is what decides: of two requests at once, for
 * whichever variants, one creates it, and the other finds which variant it was made of. What a crash in between
 * leaves is a creative without the session knowing of it; any repeat, with a key or without, finds it and closes the
 * session. Nothing can stand in its way any more: a variant that could be finalized always can (`whyNotFinalize`), and
 * campaign and advertiser are only looked at for a creation.
 *
 * The other order would leave a session that is closed without its creative, which nobody may be able to create any
 * more: its name may be taken since, or its campaign over.
 * @throws ApiError NOT_FOUND, CONFLICT (variant neither evaluated nor selected, another one finalized, name taken,
 *   campaign closed, advertiser archived)
 */
export const finalizeSession = async (
  writes: SessionWrites,
  path: SessionPath,
  { variantId: shownVariantId, name }: FinalizeSessionBody,
  request: RequestContext,
): Promise<{ readonly session: CreativeSession; readonly creativeId: string }> => {
  const session = await findSession(writes, path, request);
  const { customerId, sessionId } = session;
  const variantId = wantedVariant(shownVariantId);
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
