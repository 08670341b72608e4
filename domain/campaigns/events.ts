import { z } from 'zod';
import { CurrencyCode } from '../advertisers/resource.ts';
import type { EventsOf } from '../decision.ts';
import { changesShape, createdShape } from '../fields.ts';
import { campaignFields } from './resource.ts';

const { advertiserId, name, ...optional } = createdShape(campaignFields);
const CampaignCreated = z.object({
  campaignId: z.string(),
  customerId: z.int(),
  advertiserId,
  name,
  /** The advertiser's currency, which cannot change any more. */
  currency: CurrencyCode,
  ...optional,
});
const CampaignChanges = z.object(changesShape(campaignFields));
const nothingMore = z.object({});

export const campaignEvents = {
  CampaignCreated: { schemaVersion: 1, data: CampaignCreated },
  CampaignUpdated: { schemaVersion: 1, data: z.object({ changes: CampaignChanges }) },
  CampaignLaunched: { schemaVersion: 1, data: nothingMore },
  CampaignPaused: { schemaVersion: 1, data: nothingMore },
  CampaignReactivated: { schemaVersion: 1, data: nothingMore },
  CampaignCompleted: { schemaVersion: 1, data: nothingMore },
  CampaignArchived: { schemaVersion: 1, data: nothingMore },
} as const;

export type CampaignEvent = EventsOf<typeof campaignEvents>;
export type CampaignCreated = z.infer<typeof CampaignCreated>;
export type CampaignChanges = z.infer<typeof CampaignChanges>;
