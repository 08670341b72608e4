import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { Timestamp } from '../values.ts';

/** What sellers are asked. Fixed when the execution begins, so that all of them get the same. */
const SellerRequest = z.object({
  brief: z.string(),
  /** Sellers know their buyers by brand and operator. Absent: the advertiser has no brand. */
  account: z.object({ brandDomain: z.string(), operator: z.string() }).optional(),
  /** Given to sellers, who repeat it in their answers and media buys. It says nothing to anyone else. */
  buyerRef: z.string(),
});
export type SellerRequest = z.infer<typeof SellerRequest>;

export const OutcomeKind = z.enum([
  'returned_products',
  'no_matching_products',
  'no_inventory_for_request',
  'skipped',
  'failed',
]);
export const ReasonCode = z.enum(['timeout', 'transport', 'protocol', 'eligibility']);
export type ReasonCode = z.infer<typeof ReasonCode>;

const Problem = z.object({ code: z.string(), message: z.string() });

const ProposalsRequested = z.object({
  executionId: z.uuid(),
  customerId: z.int(),
  advertiserId: z.int(),
  campaignId: z.uuid(),
  /** The campaign's revision when the execution began. */
  campaignRevision: z.int(),
  request: SellerRequest,
  /** Until then each seller may answer. */
  deadlineAt: Timestamp,
  sellers: z.array(
    z.object({
      sellerId: z.int(),
      name: z.string(),
      /** It was named, but cannot be asked. */
      skipped: Problem.optional(),
    }),
  ),
});
export type ProposalsRequested = z.infer<typeof ProposalsRequested>;

/** Small columns of a product; the seller's whole answer is in the object store. Texts are the seller's. */
export const ProposedProduct = z.object({
  productId: z.string(),
  name: z.string(),
  description: z.string().optional(),
  deliveryType: z.enum(['guaranteed', 'non_guaranteed']).optional(),
  channels: z.array(z.string()),
  pricingOptions: z.array(
    z.object({
      pricingOptionId: z.string(),
      pricingModel: z.string().optional(),
      currency: z.string().optional(),
      fixedPrice: z.number().optional(),
      floorPrice: z.number().optional(),
    }),
  ),
});
export type ProposedProduct = z.infer<typeof ProposedProduct>;

export const SellerAnswer = z.object({
  outcome: z.enum(['returned_products', 'no_matching_products', 'no_inventory_for_request']),
  proposalIds: z.array(z.string()),
  products: z.array(ProposedProduct),
  counts: z.object({
    /** Products in the answer. */
    received: z.int(),
    /** Products and proposals that were left out because they are invalid. */
    invalid: z.int(),
    /** Valid products that are in the stored answer only. */
    unlisted: z.int(),
  }),
  /** SHA-256 of the answer, in hex. Absent: the seller answered with an error. */
  digest: z.string().optional(),
  /** Key of the answer in the object store. */
  ref: z.string().optional(),
});
export type SellerAnswer = z.infer<typeof SellerAnswer>;

const ofSeller = { sellerId: z.int() };
/** For readers of a single event. */
const ofExecution = { advertiserId: z.int(), campaignId: z.uuid() };

export const proposalRequestEvents = {
  ProposalsRequested: { schemaVersion: 1, data: ProposalsRequested },
  SellerTaskAccepted: {
    schemaVersion: 1,
    data: z.object({ ...ofSeller, taskId: z.string(), taskOf: z.enum(['ADCP', 'A2A']) }),
  },
  SellerAnswered: { schemaVersion: 1, data: SellerAnswer.extend(ofSeller) },
  SellerTimedOut: { schemaVersion: 1, data: z.object(ofSeller) },
  SellerFailed: {
    schemaVersion: 1,
    data: Problem.extend({ ...ofSeller, reasonCode: z.enum(['transport', 'protocol']) }),
  },
  LateAnswerRecorded: { schemaVersion: 1, data: SellerAnswer.extend({ ...ofSeller, ...ofExecution }) },
  ProposalRequestCompleted: {
    schemaVersion: 1,
    data: z.object({ ...ofExecution, status: z.enum(['complete', 'partial', 'failed']) }),
  },
} as const;

export type ProposalRequestEvent = EventsOf<typeof proposalRequestEvents>;
