import { z } from 'zod';
import { Channel } from '../advertisers/resource.ts';
import { createInput } from '../fields.ts';
import { boundedText, isHttpUrl, listOf } from '../values.ts';
import { sellerFields } from './resource.ts';

export const SellerInput = z.object(
  createInput(sellerFields, {
    name: boundedText(1, 200),
    logoUrl: z
      .url({ protocol: /^https$/, error: 'must be a URL starting with https://' })
      .max(2_048)
      .refine(isHttpUrl, 'must be a URL starting with https://'),
    channels: listOf(Channel, Channel.options.length),
  }),
);
export type SellerInput = z.output<typeof SellerInput>;
