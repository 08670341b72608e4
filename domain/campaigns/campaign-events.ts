import { z } from 'zod';
import { CurrencyCode } from '../advertisers/resource.ts';
import type { EventsOf } from '../decision.ts';
import { Budget, Flight } from './campaign-resource.ts';

const CampaignCreated = z.object({
  campaignId: z.string(),
  customerId: z.int(),
  advertiserId: z.int(),
  name: z.string(),
  /** The advertiser's at that moment, and from then on. */
  currency: CurrencyCode,
  flight: Flight.optional(),
  budget: Budget.optional(),
  brief: z.string().optional(),
});

/** Only the members that really changed; null clears a member. */
const CampaignUpdated = z.object({
  changes: z.object({
    name: z.string().optional(),
    flight: Flight.nullable().optional(),
    budget: Budget.nullable().optional(),
    brief: z.string().nullable().optional(),
  }),
});

const nothingMore = z.object({});

/** Schema and current version of every event that a campaign's stream can hold. */
export const campaignEvents = {
  CampaignCreated: { schemaVersion: 1, data: CampaignCreated },
  CampaignUpdated: { schemaVersion: 1, data: CampaignUpdated },
  CampaignLaunched: { schemaVersion: 1, data: nothingMore },
  CampaignPaused: { schemaVersion: 1, data: nothingMore },
  CampaignReactivated: { schemaVersion: 1, data: nothingMore },
  CampaignCompleted: { schemaVersion: 1, data: nothingMore },
  CampaignArchived: { schemaVersion: 1, data: nothingMore },
} as const;

export type CampaignEvent = EventsOf<typeof campaignEvents>;
export type CampaignCreated = z.infer<typeof CampaignCreated>;
export type CampaignChanges = z.infer<typeof CampaignUpdated>['changes'];
