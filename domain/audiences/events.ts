import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { SealedItems } from '../encrypted-items.ts';
import { AudienceDefinition } from './resource.ts';

/** Members to add or remove, stored before the event that refers to them (`audienceBatchStream`). */
const Batch = z.object({ batchId: z.string(), parts: z.int(), added: z.int(), removed: z.int() });

export const AudienceSynced = z.object({
  audienceId: z.string(),
  customerId: z.int(),
  advertiserId: z.int(),
  key: z.string(),
  ...AudienceDefinition.shape,
  batch: Batch.optional(),
});

const AudienceMembersForgotten = z.object({
  forgettingId: z.string(),
  members: z.int(),
});

export const audienceEvents = {
  AudienceSynced: { schemaVersion: 1, data: AudienceSynced },
  /** Members were erased: agents that have the audience must receive it again. */
  AudienceMembersForgotten: { schemaVersion: 1, data: AudienceMembersForgotten },
  AudienceArchived: { schemaVersion: 1, data: z.object({}) },
} as const;

export type AudienceEvent = EventsOf<typeof audienceEvents>;
export type AudienceSynced = z.infer<typeof AudienceSynced>;
export type AudienceBatch = z.infer<typeof Batch>;

const Uid = z.tuple([z.string(), z.string()]);

/** The buyer's id, the hashes of e-mail and phone (64 hexadecimal digits), and ids of AdCP's uid types. */
const Member = z.tuple([
  z.string(),
  z.string().nullable(),
  z.string().nullable(),
  z.array(Uid).min(1).nullable(),
]);

/** No event refers to a batch before all its parts are stored. */
const AudienceMembersStored = z.object({
  part: z.int(),
  add: z.array(Member),
  remove: z.array(z.string()),
});

/** An event with erased keys has no members and stays unchanged: its schema refuses it. */
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
    // Version 1 was not encrypted; decrypted, both versions are the same. Members of version 2 have no universal ids.
    upcasters: [<Data>(data: Data): Data => data, withoutUids],
  },
} as const;
export type MemberUid = z.infer<typeof Uid>;
export type AudienceMember = z.infer<typeof Member>;
export type AudienceMembersStored = z.infer<typeof AudienceMembersStored>;
