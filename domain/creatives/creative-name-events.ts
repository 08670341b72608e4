import { z } from 'zod';
import type { EventsOf } from '../decision.ts';

/** `claimId` names the claim: who releases it must mean this one, not a later one of the same creative. */
const Claim = z.object({ creativeId: z.string(), name: z.string(), claimId: z.string() });

/** Schema and current version of every event that the stream of a campaign's names can hold. */
export const creativeNameEvents = {
  CreativeNameClaimed: { schemaVersion: 1, data: Claim },
  CreativeNameReleased: { schemaVersion: 1, data: Claim },
} as const;

export type CreativeNameEvent = EventsOf<typeof creativeNameEvents>;
