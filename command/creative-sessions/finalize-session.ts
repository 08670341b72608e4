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
import { variantIdIn } from './change-session.ts';
import type { FinalizeSessionBody } from './creative-session-input.ts';
import { creativeSessionRefused } from './creative-session-refusals.ts';
import { runOnSession } from './run-on-session.ts';
import { findSession, refuseFor, type SessionPath, type SessionWrites } from './session-writes.ts';

/**
 * Ends a session by creating a creative from one variant, then closing the session. These are two streams without a
 * common transaction.
 *
 * The creative's id is derived from the session only, so its creation decides. Among concurrent requests for any
 * variants, one creates the creative, and the others find which variant it was made from. After a crash in between,
 * the creative exists and the session is open. Any repeat, with or without a key, finds the creative and closes the
 * session. Nothing can prevent that: a variant that could once be finalized always can (`whyNotFinalize`), and
 * campaign and advertiser are checked only for a creation.
 *
 * In the opposite order a crash could leave a closed session without a creative, which might be impossible to create
 * later: its name may be taken, or the campaign over.
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
