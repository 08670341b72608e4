import type { CreativeSession } from '../../domain/creative-sessions/creative-session-resource.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { openCampaign } from '../creatives/creative-writes.ts';
import { askEngine, GeneratedCopies } from './creative-engine.ts';
import type { StartCreativeSessionBody } from './creative-session-input.ts';
import { noConnection } from './creative-session-refusals.ts';
import { createSession, doneBefore } from './run-on-session.ts';
import type { SessionWrites } from './session-writes.ts';

/**
 * Starts a session. The engine is called before the event, so that every session has variants.
 * @throws ApiError NOT_FOUND (campaign, connection), CONFLICT (campaign closed, advertiser archived),
 *   SERVICE_UNAVAILABLE (engine)
 */
export const startSession = async (
  writes: SessionWrites,
  shownCampaignId: string,
  { title, prompt, connectionId, formatKind = 'responsive_creative' }: StartCreativeSessionBody,
  request: RequestContext,
): Promise<CreativeSession> => {
  const { customerId } = request.principal;
  const sessionId = derivedId(request.commandId, 'creative-session');
  const done = await doneBefore(writes, sessionId, request);
  if (done !== undefined) return done;
  const { campaignId } = await openCampaign(writes, customerId, shownCampaignId);
  const engine = await writes.engines.engineOf(customerId, connectionId);
  if (engine === undefined) throw noConnection();
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
