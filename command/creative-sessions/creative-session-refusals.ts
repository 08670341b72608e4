import type { CreativeSessionRefusal } from '../../domain/creative-sessions/creative-session.ts';
import { shownVariantId } from '../../domain/creative-sessions/creative-session-resource.ts';
import { shownCreativeId } from '../../domain/creatives/creative-resource.ts';
import { ApiError, notFound, staleRevision } from '../../shared/http/errors.ts';

export const creativeSessionRefused = (refusal: CreativeSessionRefusal): ApiError => {
  switch (refusal.reason) {
    case 'not-found':
      return notFound('creative session');
    case 'already-exists':
      return conflict('This creative session exists already. Read it instead.');
    case 'unknown-variant':
      return notFound('variant of the creative session');
    case 'not-chosen':
      return conflict(
        'The variant is neither evaluated nor selected. Evaluate the session, or refine it, first.',
      );
    case 'finalized':
      return conflict('The creative session is finalized and read-only. Start another one.', {
        variantId: shownVariantId(refusal.variantId),
        creativeId: shownCreativeId(refusal.creativeId),
      });
    case 'too-many-variants':
      return conflict(
        `The creative session has ${refusal.limit} variants, which is the limit. Finalize one, or start another session.`,
        { limit: refusal.limit },
      );
    case 'too-many-stages':
      return conflict(
        `The creative session is evaluated at ${refusal.limit} stages, which is the limit. Name one of them.`,
        { limit: refusal.limit },
      );
    case 'stale':
      return staleRevision('creative session', refusal.expectedRevision, refusal.currentRevision);
    default:
      return refusal satisfies never;
  }
};

const conflict = (message: string, details?: object): ApiError =>
  new ApiError({ code: 'CONFLICT', message, ...(details === undefined ? {} : { details }) });

/** @param connectionId the connection of an existing session; undefined when it comes from the request */
export const noConnection = (connectionId?: string): ApiError =>
  connectionId === undefined
    ? new ApiError({ ...notFound('live creative-engine connection').body, field: 'connectionId' })
    : conflict(
        "The session's creative-engine connection has ended. Start another session, or finalize this one.",
        {
          connectionId,
        },
      );
