import { z } from 'zod';

/** An audience: the aggregate's state and, as JSON text, its row in the read model. */
export interface Audience {
  readonly status: 'ACTIVE' | 'ARCHIVED';
  /** UUID that follows from the account, the advertiser and the buyer's key. */
  readonly audienceId: string;
  readonly customerId: number;
  readonly advertiserId: number;
  readonly key: string;
  readonly name: string;
  readonly consentBasis?: string | undefined;
  /** What its last event did, in the words of a sync's answer. */
  readonly lastChange: 'created' | 'updated' | 'deleted';
  readonly createdAt: string;
  readonly updatedAt: string;
}

/**
 * How long it is known how many members an audience had: thirteen months, so that a month can be compared with the same
 * one a year ago.
 */
export const SIZES_KEPT_DAYS = 400;

const Timestamp = z.iso.datetime({ precision: 3 });

/** An audience as the API shows it (decisions.md section 2). */
export const AudienceResource = z
  .strictObject({
    audienceId: z.string(),
    name: z.string(),
    accountId: z.string().meta({ description: 'The advertiser.' }),
    consentBasis: z.string().optional(),
    status: z.enum(['PROCESSING', 'ERROR', 'READY', 'TOO_SMALL']).meta({
      description:
        'TOO_SMALL: it has no members. PROCESSING: in a list of the past only; how many it had then has not been read from the log yet, and uploadedCount is 0.',
    }),
    deleted: z.boolean(),
    uploadedCount: z.int().meta({ description: 'Members that it has.' }),
    matchedCount: z
      .int()
      .meta({ description: 'Members that were matched here: always 0, agents match them.' }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Audience' });

type AudienceResource = z.infer<typeof AudienceResource>;

/** @param members how many it has; undefined where that is not known */
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
