import { z } from 'zod';
import { Timestamp } from '../values.ts';

/** An audience folded from its events; also its row in the read model, as JSON text. */
export interface Audience {
  readonly status: 'ACTIVE' | 'ARCHIVED';
  /** UUID derived from the account, the advertiser and the buyer's key. */
  readonly audienceId: string;
  readonly customerId: number;
  readonly advertiserId: number;
  readonly key: string;
  readonly name: string;
  readonly consentBasis?: string | undefined;
  /** The effect of the last event, as the answer of a sync names it. */
  readonly lastChange: 'created' | 'updated' | 'deleted';
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Days for which past member counts are kept: thirteen months, to compare a month with the same month a year ago. */
export const SIZES_KEPT_DAYS = 400;

/** An audience as the API shows it (decisions.md section 2). */
export const AudienceResource = z
  .strictObject({
    audienceId: z.string(),
    name: z.string(),
    accountId: z.string().meta({ description: 'The advertiser.' }),
    consentBasis: z.string().optional(),
    status: z.enum(['PROCESSING', 'ERROR', 'READY', 'TOO_SMALL']).meta({
      description:
        'TOO_SMALL: it has no members. PROCESSING: only in a list of the past, if the number of members at that time is not known yet; uploadedCount is then 0.',
    }),
    deleted: z.boolean(),
    uploadedCount: z.int().meta({ description: 'Number of members.' }),
    matchedCount: z.int().meta({ description: 'Always 0: agents match members.' }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Audience' });

type AudienceResource = z.infer<typeof AudienceResource>;

/** @param members number of members; undefined if unknown */
export const audienceResource = (audience: Audience, members: number | undefined): AudienceResource => ({
  audienceId: audience.key,
  name: audience.name,
  accountId: String(audience.advertiserId),
  ...(audience.consentBasis === undefined ? {} : { consentBasis: audience.consentBasis }),
  status: members === undefined ? 'PROCESSING' : members === 0 ? 'TOO_SMALL' : 'READY',
  deleted: audience.status === 'ARCHIVED',
  uploadedCount: members ?? 0,
  matchedCount: 0,
  createdAt: audience.createdAt,
  updatedAt: audience.updatedAt,
});
