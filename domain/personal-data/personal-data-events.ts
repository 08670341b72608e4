import { z } from 'zod';

export const PERSONAL_DATA = 'personalData';

export const personalDataStream = (customerId: number): string => `${PERSONAL_DATA}-${customerId}`;

/** The record of an operator's erasure. It identifies no person. */
const PersonalDataForgotten = z.object({
  forgettingId: z.string(),
  scope: z.enum(['subjects', 'account']),
  /** Number of identifiers; 0 for a whole account. */
  subjects: z.int(),
  /** Number of encrypted parts in the log that became unreadable; 0 for a whole account, where all do. */
  places: z.int(),
  members: z.int(),
});

export const personalDataEvents = {
  PersonalDataForgotten: { schemaVersion: 1, data: PersonalDataForgotten },
} as const;
export type PersonalDataForgotten = z.infer<typeof PersonalDataForgotten>;
