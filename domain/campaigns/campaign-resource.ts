import { z } from 'zod';
import { CurrencyCode } from '../advertisers/resource.ts';
import { shownIds } from '../shown-id.ts';

export const CampaignPhase = z.enum(['draft', 'active', 'paused', 'completed', 'archived']);
export type CampaignPhase = z.infer<typeof CampaignPhase>;

const Timestamp = z.iso.datetime({ precision: 3 });

export const Flight = z.strictObject({ startAt: Timestamp, endAt: Timestamp });
export type Flight = z.infer<typeof Flight>;

export const Budget = z.strictObject({ total: z.number().min(0), currency: CurrencyCode });
export type Budget = z.infer<typeof Budget>;

/** A campaign as the API shows it (decisions.md section 2). Optional members are absent when unset, never null. */
export const CampaignResource = z
  .strictObject({
    id: z.string(),
    advertiserId: z.int().min(1).max(2_147_483_647),
    name: z.string(),
    phase: CampaignPhase,
    flight: Flight.optional(),
    budget: Budget.optional(),
    brief: z.string().optional(),
    revision: z.int().min(1),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Campaign' });
export type CampaignResource = z.infer<typeof CampaignResource>;

/** A campaign as its events make it. */
export interface Campaign {
  /** UUID. */
  readonly campaignId: string;
  readonly customerId: number;
  readonly advertiserId: number;
  readonly name: string;
  readonly phase: CampaignPhase;
  /** The advertiser's, which its first campaign has locked. */
  readonly currency: string;
  readonly flight?: Flight | undefined;
  readonly budget?: Budget | undefined;
  readonly brief?: string | undefined;
  /** How many commands have changed something; its creation is the first. */
  readonly revision: number;
  readonly createdAt: string;
  readonly updatedAt: string;
}

const ids = shownIds('cmp_');
export const shownCampaignId = ids.shown;
export const campaignIdOf = ids.idOf;

export const campaignResource = ({
  campaignId,
  customerId: _customer,
  currency: _currency,
  ...shown
}: Campaign): CampaignResource => ({ id: shownCampaignId(campaignId), ...shown });
