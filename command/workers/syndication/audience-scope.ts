import { z } from 'zod';
import { AUDIENCE, audienceStream } from '../../../domain/audiences/audience.ts';
import type { SyndicationRecord } from '../../../domain/syndication/syndication.ts';
import type { Clock } from '../../../shared/async/clock.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { resourceIdOf } from '../../../shared/aggregate/ids.ts';

/** What a delivery of an audience brings; part of what is fixed when it is started. */
export type AudienceScope = {
  /** The agent has all changes up to this revision: those behind it are brought. Absent: all members are. */
  readonly since?: number;
  /** Nobody knows what the agent has: it is told to drop it first. */
  readonly anew?: boolean;
};

const Delivered = z.object({ audiences: z.tuple([z.object({ revision: z.int() })]) });

/** Two days less than it is known who was removed (`audience-members.ts`). */
const REMOVALS_MS = 5 * 24 * 60 * 60 * 1_000;

/** Behind so many changes an agent is given everything anew. */
const CHANGES_MAX = 1_000;

/**
 * What an agent is to be brought of an audience: everything; or what has changed since it was brought everything
 * before. Whoever removed somebody must be able to rely on it, so where it is not certain what the agent has, after a
 * delivery that failed half way, say, the agent is told to drop the audience and is given it anew.
 * @param isSharedName another record has, or may have, brought something under the same name
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
    // Who was forgotten cannot be named as removed.
    if (type === 'AudienceMembersForgotten') return { anew: true };
    changes += 1;
  }
  return changes < CHANGES_MAX ? { since } : { anew: true };
};
