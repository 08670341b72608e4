import { z } from 'zod';
import { CurrencyCode } from '../advertisers/resource.ts';
import { changeable, clearable, derived, fixed, membersOf, resourceShape } from '../fields.ts';
import { shownIds } from '../shown-id.ts';
import { Timestamp } from '../values.ts';

export const CampaignPhase = z.enum(['draft', 'active', 'paused', 'completed', 'archived']);
export type CampaignPhase = z.infer<typeof CampaignPhase>;

const Flight = z.strictObject({ startAt: Timestamp, endAt: Timestamp });
const Budget = z.strictObject({ total: z.number().min(0), currency: CurrencyCode });

export const campaignFields = {
  id: derived(z.string()),
  advertiserId: fixed(z.int().min(1).max(2_147_483_647), { recorded: z.int() }),
  name: changeable(z.string()),
  phase: derived(CampaignPhase),
  flight: clearable(Flight),
  budget: clearable(Budget),
  brief: clearable(z.string()),
  // Number of commands that changed something, the creation included.
  revision: derived(z.int().min(1)),
  createdAt: derived(Timestamp),
  updatedAt: derived(Timestamp),
};

export const CampaignResource = z.strictObject(resourceShape(campaignFields)).meta({ id: 'Campaign' });
export type CampaignResource = z.infer<typeof CampaignResource>;

export interface Campaign extends Omit<CampaignResource, 'id'> {
  readonly campaignId: string;
  readonly customerId: number;
  /** The advertiser's, which its first campaign has locked. */
  readonly currency: string;
}

const ids = shownIds('cmp_');
export const shownCampaignId = ids.shown;
export const campaignIdOf = ids.idOf;

export const campaignResource = (campaign: Campaign): CampaignResource =>
  membersOf(CampaignResource, { ...campaign, id: shownCampaignId(campaign.campaignId) });
