import { z } from 'zod';
import { boundedText, distinct } from '../values.ts';
import { SELLERS_MAX } from './resource.ts';

const INT32_MAX = 2_147_483_647;

export const RequestProposalsBody = z
  .object({
    expectedCampaignRevision: z.int().min(1).optional().meta({
      description: 'The revision of the campaign that the caller knows. A stale one is a CONFLICT.',
    }),
    sellerIds: z
      .array(z.int().min(1).max(INT32_MAX))
      .min(1)
      .max(SELLERS_MAX)
      .overwrite(distinct)
      .optional()
      .meta({
        description:
          'The sellers to ask. Default: all that have an agent and sell in the channels of the advertiser, which needs a confirmation.',
      }),
    confirm: z
      .boolean()
      .optional()
      .meta({ description: 'true, with a `confirmationUid`: asks all sellers.' }),
    confirmationUid: boundedText(1, 100).optional().meta({
      description: 'From the answer to the same request without it: once, within 15 minutes.',
    }),
  })
  .refine(({ confirm, confirmationUid }) => confirmationUid === undefined || confirm === true, {
    path: ['confirm'],
    error: 'must be true with a confirmationUid',
  })
  .meta({ id: 'RequestProposals' });

export type RequestProposalsBody = z.output<typeof RequestProposalsBody>;
