import { z } from 'zod';
import { Timestamp } from '../values.ts';

export const CapWindow = z.strictObject({
  interval: z.int().min(1).max(2_147_483_647),
  unit: z.enum(['seconds', 'minutes', 'hours', 'days', 'campaign']),
});

/** Specification, FrequencyCap. */
export const FrequencyCap = z.strictObject({
  id: z.string(),
  targetLevel: z.enum(['ADVERTISER', 'CREATIVE']),
  targetId: z.string(),
  max_impressions: z.int().min(1).max(2_147_483_647),
  window: CapWindow,
  createdAt: Timestamp,
  updatedAt: Timestamp,
  archivedAt: Timestamp.optional(),
});
export type FrequencyCap = z.infer<typeof FrequencyCap>;

/** Without the members that follow from its target and the event's time. */
export const RecordedCap = z.object({ id: z.string(), max_impressions: z.int(), window: CapWindow });
export type RecordedCap = z.infer<typeof RecordedCap>;

/** The whole new set, in order. A cap with an earlier id is the same cap; ids left out are archived. */
export const CapReplacement = z.object({
  caps: z.array(RecordedCap),
  archivedCapIds: z.array(z.string()),
});
export type CapReplacement = z.infer<typeof CapReplacement>;
