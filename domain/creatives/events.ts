import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { OtherCauses } from '../causation.ts';
import { changesShape, createdShape } from '../fields.ts';
import { CapReplacement } from '../frequency-caps/resource.ts';
import { contentFields, CreativeContent, creativeFields, CreativeRole, CreativeSource } from './resource.ts';
import { ReviewStatus } from './seller-reviews.ts';

const State = z.enum(['draft', 'ready']);

const { advertiserId, name, role, frequencyCaps } = createdShape(creativeFields);

const CreativeCreated = z.object({
  creativeId: z.string(),
  customerId: z.int(),
  advertiserId,
  name,
  state: State,
  role,
  promoted: z.boolean(),
  source: CreativeSource,
  campaignId: z.string().optional(),
  copyOf: z.string().optional(),
  madeIn: z.object({ sessionId: z.string(), variantId: z.string() }).optional(),
  content: CreativeContent,
  frequencyCaps,
});

const { formatKind, slots, copy, trackers, carouselCards, ...clearable } = changesShape(contentFields);
const changed = changesShape(creativeFields);

const CreativeUpdated = z.object({
  changes: z.object({
    name: changed.name,
    state: State.optional(),
    role: changed.role,
    promoted: z.boolean().optional(),
    formatKind,
    slots,
    copy,
    trackers,
    carouselCards,
    ...clearable,
  }),
  frequencyCaps: CapReplacement.optional(),
});

/** The status at these sellers becomes `processing`. */
const CreativeSubmitted = z.object({
  sellerIds: z.array(z.int()),
  /** Absent: only the event's own request caused the submission. */
  alsoCausedBy: OtherCauses.optional(),
});

const CreativeReviewed = z.object({
  sellerId: z.int(),
  status: ReviewStatus,
  rejectionReason: z.string().optional(),
  /** The reviewed revision, with the same content as now. */
  takenOn: z.int(),
});

const InCampaign = z.object({ campaignId: z.string() });

export const creativeEvents = {
  CreativeCreated: { schemaVersion: 1, data: CreativeCreated },
  CreativeUpdated: { schemaVersion: 1, data: CreativeUpdated },
  CreativeAttached: { schemaVersion: 1, data: InCampaign },
  /** `archives`: it was the creative's last campaign. */
  CreativeDetached: { schemaVersion: 1, data: InCampaign.extend({ archives: z.boolean() }) },
  CreativePromoted: { schemaVersion: 1, data: z.object({ role: CreativeRole }) },
  CreativeArchived: { schemaVersion: 1, data: z.object({}) },
  CreativeSubmitted: { schemaVersion: 1, data: CreativeSubmitted },
  CreativeReviewed: { schemaVersion: 1, data: CreativeReviewed },
} as const;

export type CreativeEvent = EventsOf<typeof creativeEvents>;
export type CreativeCreated = z.infer<typeof CreativeCreated>;
export type CreativeChanges = z.infer<typeof CreativeUpdated>['changes'];
export type CreativeReviewed = z.infer<typeof CreativeReviewed>;
