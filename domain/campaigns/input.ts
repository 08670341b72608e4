import { z } from 'zod';
import { CurrencyCode } from '../advertisers/resource.ts';
import { createInput, repeatedInput, updateInput } from '../fields.ts';
import { boundedText, instant } from '../values.ts';
import { campaignFields } from './resource.ts';

const timestamp = () => instant().transform((epochMs) => new Date(epochMs).toISOString());

const FlightInput = z
  .object({ startAt: timestamp(), endAt: timestamp() })
  .refine(({ startAt, endAt }) => startAt < endAt, {
    path: ['endAt'],
    error: 'must be later than startAt',
    when: ({ issues }) => issues.length === 0,
  });

/** More than any buyer spends, and far below the numbers that lose their cents. */
const TOTAL_MAX = 1e12;

const BudgetInput = z.object({
  total: z.number().min(0).max(TOTAL_MAX),
  currency: CurrencyCode.optional().meta({ description: "Must be the advertiser's." }),
});

const inputs = {
  advertiserId: campaignFields.advertiserId.shown,
  name: boundedText(1, 255),
  flight: FlightInput,
  budget: BudgetInput,
  brief: boundedText(0, 5_000),
};

export const CreateCampaignBody = z
  .object(createInput(campaignFields, inputs))
  .meta({ id: 'CreateCampaign' });

const repeated = repeatedInput(campaignFields, ['id', 'advertiserId', 'phase']);

export const UpdateCampaignBody = z
  .object({
    ...updateInput(campaignFields, inputs),
    expectedRevision: z.int().min(1).optional().meta({
      description: 'The revision that the change was made on; another one is refused with 409.',
    }),
    ...repeated,
  })
  .meta({ id: 'UpdateCampaign' });

export type CreateCampaignBody = z.output<typeof CreateCampaignBody>;
export type UpdateCampaignBody = z.output<typeof UpdateCampaignBody>;
