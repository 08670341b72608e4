import { z } from 'zod';
import { changeable, clearable, definitionShape, derived, membersOf, resourceShape } from '../fields.ts';
import type { SyncedResource } from '../resource-syncs/resource.ts';
import { Timestamp } from '../values.ts';

/** Thirteen months, to compare a month with the same month a year ago. */
export const SIZES_KEPT_DAYS = 400;

const audienceFields = {
  audienceId: derived(z.string()),
  name: changeable(z.string()),
  accountId: derived(z.string().meta({ description: 'The advertiser.' })),
  consentBasis: clearable(z.string()),
  status: derived(
    z.enum(['PROCESSING', 'ERROR', 'READY', 'TOO_SMALL']).meta({
      description:
        'TOO_SMALL: it has no members. PROCESSING: only in a list of the past, if the number of members at that time is not known yet; uploadedCount is then 0.',
    }),
  ),
  deleted: derived(z.boolean()),
  uploadedCount: derived(z.int().meta({ description: 'Number of members.' })),
  matchedCount: derived(z.int().meta({ description: 'Always 0: agents match members.' })),
  createdAt: derived(Timestamp),
  updatedAt: derived(Timestamp),
};

export const AudienceResource = z.strictObject(resourceShape(audienceFields)).meta({ id: 'Audience' });
export type AudienceResource = z.infer<typeof AudienceResource>;

export const AudienceDefinition = z.object(definitionShape(audienceFields));

export interface Audience extends SyncedResource, z.infer<typeof AudienceDefinition> {
  readonly audienceId: string;
}

export const audienceResource = (audience: Audience, members: number | undefined): AudienceResource =>
  membersOf(AudienceResource, {
    ...audience,
    audienceId: audience.key,
    accountId: String(audience.advertiserId),
    status: members === undefined ? 'PROCESSING' : members === 0 ? 'TOO_SMALL' : 'READY',
    deleted: audience.status === 'ARCHIVED',
    uploadedCount: members ?? 0,
    matchedCount: 0,
  });
