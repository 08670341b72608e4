import { z } from 'zod';

export const PERSONAL_DATA = 'personalData';

export const personalDataStream = (customerId: number): string => `${PERSONAL_DATA}-${customerId}`;

/** Identifies no person. */
const PersonalDataForgotten = z.object({
  forgettingId: z.string(),
  scope: z.enum(['subjects', 'account']),
  /** Number of identifiers; 0 for a whole account. */
  subjects: z.int(),
  /** Encrypted parts that became unreadable; 0 for a whole account, where all do. */
  places: z.int(),
  members: z.int(),
});

export const personalDataEvents = {
  PersonalDataForgotten: { schemaVersion: 1, data: PersonalDataForgotten },
} as const;
export type PersonalDataForgotten = z.infer<typeof PersonalDataForgotten>;
