import { z } from 'zod';
import type { EventsOf } from '../decision.ts';

/** A release must name this claim, not a later one of the same creative. */
const Claim = z.object({ creativeId: z.string(), name: z.string(), claimId: z.string() });

export const creativeNameEvents = {
  CreativeNameClaimed: { schemaVersion: 1, data: Claim },
  CreativeNameReleased: { schemaVersion: 1, data: Claim },
} as const;

export type CreativeNameEvent = EventsOf<typeof creativeNameEvents>;
