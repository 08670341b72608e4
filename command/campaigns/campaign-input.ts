import { z } from 'zod';
import { CurrencyCode } from '../../domain/advertisers/resource.ts';
import { CampaignPhase } from '../../domain/campaigns/campaign-resource.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { boundedText, instant } from '../../shared/http/schemas.ts';

/** What a buyer may send for a campaign (decisions.md section 2). Unknown members are ignored. */

const FlightInput = z
  .object({ startAt: instant().transform(isoTimestamp), endAt: instant().transform(isoTimestamp) })
  .refine(({ startAt, endAt }) => startAt < endAt, {
    path: ['endAt'],
    error: 'must be later than startAt',
    when: ({ issues }) => issues.length === 0,
  });

/** More than anybody spends, and well below where numbers lose their cents. */
const TOTAL_MAX = 1e12;

const BudgetInput = z.object({
  total: z.number().min(0).max(TOTAL_MAX),
  currency: CurrencyCode.optional().meta({ description: "Must be the advertiser's." }),
});

const name = boundedText(1, 255);
const brief = boundedText(0, 5_000);
const cleared = { description: 'null clears it.' };

export const CreateCampaignBody = z
  .object({
    advertiserId: z.int().min(1).max(2_147_483_647),
    name,
    flight: FlightInput.optional(),
    budget: BudgetInput.optional(),
    brief: brief.optional(),
  })
  .meta({ id: 'CreateCampaign' });

export const UpdateCampaignBody = z
  .object({
    name: name.optional(),
    flight: FlightInput.nullable().optional().meta(cleared),
    budget: BudgetInput.nullable().optional().meta(cleared),
    brief: brief.nullable().optional().meta(cleared),
    expectedRevision: z.int().min(1).optional().meta({
      description: 'The revision that the change was made on; another one is refused with 409.',
    }),
    id: z.string().optional().meta({ description: 'Must be the current value.' }),
    advertiserId: z.int().optional().meta({ description: 'Must be the current value.' }),
    phase: CampaignPhase.optional().meta({ description: 'Must be the current value.' }),
  })
  .meta({ id: 'UpdateCampaign' });

export type CreateCampaignBody = z.output<typeof CreateCampaignBody>;
export type UpdateCampaignBody = z.output<typeof UpdateCampaignBody>;
