import { z } from 'zod';

/** Category of the streams: their names begin with it. */
export const PERSONAL_DATA = 'personalData';

/** What was forgotten of one account's data about persons. */
export const personalDataStream = (customerId: number): string => `${PERSONAL_DATA}-${customerId}`;

/** The record of an operator's command. It names nobody. */
const PersonalDataForgotten = z.object({
  forgettingId: z.string(),
  scope: z.enum(['subjects', 'account']),
  /** Identifiers that were named; 0 of a whole account. */
  subjects: z.int(),
  /** Places in the log that cannot be read any more; 0 of a whole account, where none can. */
  places: z.int(),
  /** Rows that went from audiences. */
  members: z.int(),
});

export const personalDataEvents = {
  PersonalDataForgotten: { schemaVersion: 1, data: PersonalDataForgotten },
} as const;
export type PersonalDataForgotten = z.infer<typeof PersonalDataForgotten>;
