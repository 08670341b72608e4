import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { SealedItems } from '../encrypted-items.ts';

/** Members to add or remove, stored before the event that refers to them (`audienceBatchStream`). */
const Batch = z.object({ batchId: z.string(), parts: z.int(), added: z.int(), removed: z.int() });

/** What a sync changed: the members of its batch, and whatever else the buyer said. */
const AudienceSynced = z.object({
  audienceId: z.string(),
  customerId: z.int(),
  advertiserId: z.int(),
  key: z.string(),
  name: z.string(),
  consentBasis: z.string().optional(),
  batch: Batch.optional(),
});

const AudienceMembersForgotten = z.object({
  /** Of the operator's command: `PersonalDataForgotten` has it, too. */
  forgettingId: z.string(),
  members: z.int(),
});

/** Schema and current version of every event that an audience's stream can hold. */
export const audienceEvents = {
  AudienceSynced: { schemaVersion: 1, data: AudienceSynced },
  /** Persons were forgotten who were members: whoever was brought the audience is to be brought it anew. */
  AudienceMembersForgotten: { schemaVersion: 1, data: AudienceMembersForgotten },
  /** It and its members are gone. */
  AudienceArchived: { schemaVersion: 1, data: z.object({}) },
} as const;

export type AudienceEvent = EventsOf<typeof audienceEvents>;
export type AudienceSynced = z.infer<typeof AudienceSynced>;
export type AudienceBatch = z.infer<typeof Batch>;

/** Type (AdCP, enum uid-type) and value. */
const Uid = z.tuple([z.string(), z.string()]);

/** What is stored of a person: the buyer's id, hashes of e-mail and phone (64 hexadecimal digits), universal ids. */
const Member = z.tuple([
  z.string(),
  z.string().nullable(),
  z.string().nullable(),
  z.array(Uid).min(1).nullable(),
]);

/** A part of a batch. Nothing refers to a batch before all of its parts are there. */
const AudienceMembersStored = z.object({
  part: z.int(),
  add: z.array(Member),
  /** The buyer's ids. */
  remove: z.array(z.string()),
});

/** An event whose keys are missing comes without members, and stays as it is: its schema refuses it. */
const withoutUids = <Data extends Readonly<Record<string, unknown>>>(data: Data): Data => {
  const { add } = data;
  if (!Array.isArray(add)) return data;
  return { ...data, add: (add as readonly (readonly unknown[])[]).map((member) => [...member, null]) };
};

export const audienceBatchEvents = {
  AudienceMembersStored: {
    schemaVersion: 3,
    data: AudienceMembersStored,
    stored: z.object({ part: z.int(), sealed: SealedItems }),
    // Version 1 had in clear what is sealed now: opened, both are the same. Members of version 2 have no universal ids.
    upcasters: [<Data>(data: Data): Data => data, withoutUids],
  },
} as const;
export type MemberUid = z.infer<typeof Uid>;
export type AudienceMember = z.infer<typeof Member>;
export type AudienceMembersStored = z.infer<typeof AudienceMembersStored>;
