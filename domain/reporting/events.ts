import { z } from 'zod';
import type { EventsOf } from '../decision.ts';

/** One media buy on one UTC day. Absent: the seller did not report it. */
const DeliveredMetrics = z.object({
  impressions: z.number().optional(),
  /** In the currency, with at most six decimals. */
  spend: z.number().optional(),
  clicks: z.number().optional(),
  views: z.number().optional(),
  completedViews: z.number().optional(),
});

export const DeliveredBuy = DeliveredMetrics.extend({
  /** The seller's. */
  mediaBuyId: z.string(),
  /** By the reference that the seller repeated. Absent: it gave none. */
  campaign: z.object({ advertiserId: z.int(), campaignId: z.uuid() }).optional(),
  currency: z.string(),
});
export type DeliveredBuy = z.infer<typeof DeliveredBuy>;

export const sellerDeliveryEvents = {
  /** The media buys that changed since the last report of the same day. The values replace earlier ones. */
  SellerDeliveryReported: {
    schemaVersion: 1,
    data: z.object({ sellerId: z.int(), day: z.iso.date(), buys: z.array(DeliveredBuy) }),
  },
} as const;

export type SellerDeliveryEvent = EventsOf<typeof sellerDeliveryEvents>;
