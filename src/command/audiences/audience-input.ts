import { z } from 'zod';
import { boundedText } from '../../shared/http/schemas.ts';
import { AccountReference, orDefault } from '../resource-syncs/sync-items.ts';

/**
 * What a buyer may send to sync audiences (decisions.md section 2). Members are looked at one by one by the handler:
 * there may be very many.
 */
const MEMBERS_MAX = 100_000;

const Members = z.array(z.unknown()).max(MEMBERS_MAX);

const AudienceInput = z.object({
  audienceId: boundedText(1, 256),
  name: orDefault(boundedText(1, 255)).meta({ description: 'Default: as it was; of a new one, its id.' }),
  add: orDefault(Members).meta({
    description:
      'Members `{externalId?, hashedEmail?, hashedPhone?}`: SHA-256 in hexadecimal. The same externalId (default: the hash) is the same member.',
  }),
  remove: orDefault(Members).meta({ description: 'Members by externalId, or as they were added.' }),
  delete: orDefault(z.boolean()).meta({ description: 'Delete the audience and its members.' }),
  consentBasis: orDefault(boundedText(1, 50)),
});

type AudienceInput = z.output<typeof AudienceInput>;

const membersIn = (audiences: readonly AudienceInput[]): number =>
  audiences.reduce((sum, { add = [], remove = [] }) => sum + add.length + remove.length, 0);

export const SyncAudiencesBody = z
  .object({
    account: AccountReference.optional(),
    audiences: z
      .array(AudienceInput)
      .min(1)
      .max(50)
      .refine(
        (items) => new Set(items.map(({ audienceId }) => audienceId)).size === items.length,
        'must not name one audience twice',
      )
      .refine((items) => membersIn(items) <= MEMBERS_MAX, `must have at most ${MEMBERS_MAX} members in all`),
    deleteMissing: z.boolean().nullish().meta({ description: 'Delete the audiences that are left out.' }),
  })
  .meta({ id: 'SyncAudiences' });

export type SyncAudiencesBody = z.output<typeof SyncAudiencesBody>;
