import { z } from 'zod';
import { AccountReference, orDefault, syncItemsOrNameless } from '../resource-syncs/input.ts';
import { boundedText } from '../values.ts';

/** The command checks each member: an invalid one fails alone. */
const MEMBERS_MAX = 100_000;

const Members = z.array(z.unknown());

const Audiences = syncItemsOrNameless('audienceId', {
  name: orDefault(boundedText(1, 255)).meta({
    description: 'Default: unchanged; for a new audience its id.',
  }),
  add: orDefault(Members).meta({
    description:
      'Members `{externalId?, hashedEmail?, hashedPhone?, uids?: [{type, value}]}`: hashes are SHA-256 in hexadecimal, ' +
      'types of uids are those of AdCP. The same externalId (default: the first hash, or the SHA-256 of the first uid) ' +
      'is the same member. At most 100,000 in all lists of a call; an invalid one fails without failing the others.',
  }),
  remove: orDefault(Members).meta({ description: 'Members by externalId, or as they were added.' }),
  delete: orDefault(z.boolean()).meta({ description: 'Delete the audience and its members.' }),
  consentBasis: orDefault(boundedText(1, 50)),
});

export type AudienceInput = z.output<typeof Audiences>[number];

const membersIn = (audiences: readonly AudienceInput[]): number =>
  audiences.reduce((sum, read) => {
    if (!('item' in read)) return sum;
    const { add = [], remove = [] } = read.item;
    return sum + add.length + remove.length;
  }, 0);

export const SyncAudiencesBody = z
  .object({
    account: AccountReference.optional(),
    audiences: Audiences.refine(
      (audiences) => membersIn(audiences) <= MEMBERS_MAX,
      `must have at most ${MEMBERS_MAX} members in all`,
    ),
    deleteMissing: z.boolean().nullish().meta({
      description:
        'Delete the audiences that the request does not name. Every item must then have its audienceId.',
    }),
  })
  .check(({ value: input, issues }) => {
    const { audiences, deleteMissing } = input;
    const nameless = audiences.findIndex(({ key }) => key === undefined);
    if (deleteMissing !== true || nameless === -1) return;
    issues.push({
      code: 'custom',
      input,
      path: ['audiences', nameless, 'audienceId'],
      message: 'must be 1 to 256 characters when deleteMissing is true: which audiences to delete is unclear',
    });
  })
  .meta({ id: 'SyncAudiences' });

export type SyncAudiencesBody = z.output<typeof SyncAudiencesBody>;
