import { z } from 'zod';
import { AUDIENCE, audienceStream } from '../../../domain/audiences/audience.ts';
import type { SyndicationRecord } from '../../../domain/syndication/syndication.ts';
import type { Clock } from '../../../shared/async/clock.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { resourceIdOf } from '../../../shared/aggregate/ids.ts';

/** Fixed when the delivery starts. */
export type AudienceScope = {
  /** Send only changes after this revision. Absent: send all members. */
  readonly since?: number;
  /** The agent's state is unknown: delete the audience there first. */
  readonly anew?: boolean;
};

const Delivered = z.object({ audiences: z.tuple([z.object({ revision: z.int() })]) });

/** Two days shorter than removals are kept (`audience-members.ts`). */
const REMOVALS_MS = 5 * 24 * 60 * 60 * 1_000;

/** After this many changes all members are sent again. */
const CHANGES_MAX = 1_000;

/**
 * A removal must be reliable: when the agent's state is uncertain, for example after a partly failed
 * delivery, the audience is deleted at the agent and sent again.
 * @param isSharedName another record has, or may have, delivered under the same name
 */
export const scopeOf = async (
  { store, clock }: { readonly store: Pick<EventStore, 'readStream'>; readonly clock: Clock },
  record: SyndicationRecord,
  isSharedName: boolean,
): Promise<AudienceScope> => {
  const { customerId, advertiserId, resourceId, atAgent } = record;
  const delivered = atAgent.is === 'EXACTLY' ? atAgent.older : undefined;
  const since = Delivered.safeParse(delivered).data?.audiences[0].revision;
  if (since === undefined) return atAgent.is !== 'NOTHING' || isSharedName ? { anew: true } : {};
  const audienceId = resourceIdOf(AUDIENCE, customerId, advertiserId, resourceId);
  const range = { from: since + 1, limit: CHANGES_MAX };
  let changes = 0;
  for await (const { type, metadata } of store.readStream(audienceStream(customerId, audienceId), range)) {
    if (clock.now() - Date.parse(metadata.occurredAt) > REMOVALS_MS) return { anew: true };
    // Forgotten members cannot be sent as removals.
    if (type === 'AudienceMembersForgotten') return { anew: true };
    changes += 1;
  }
  return changes < CHANGES_MAX ? { since } : { anew: true };
};
