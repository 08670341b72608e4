import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { createdShape } from '../fields.ts';
import { creativeSessionFields, GeneratedVariant } from './resource.ts';

const CreativeSessionStarted = z.object({
  sessionId: z.string(),
  customerId: z.int(),
  ...createdShape(creativeSessionFields),
});

const CreativeVariantRefined = z.object({
  refinedFrom: z.string(),
  feedback: z.string(),
  variant: GeneratedVariant,
});

const CreativeVariantsEvaluated = z.object({
  stage: z.string(),
  evaluations: z.array(
    z.object({ variantId: z.string(), score: z.number().min(0).max(100), notes: z.string().optional() }),
  ),
});

const CreativeSessionFinalized = z.object({ variantId: z.string(), creativeId: z.string() });

export const creativeSessionEvents = {
  CreativeSessionStarted: { schemaVersion: 1, data: CreativeSessionStarted },
  CreativeVariantRefined: { schemaVersion: 1, data: CreativeVariantRefined },
  CreativeVariantsEvaluated: { schemaVersion: 1, data: CreativeVariantsEvaluated },
  CreativeSessionFinalized: { schemaVersion: 1, data: CreativeSessionFinalized },
} as const;

export type CreativeSessionEvent = EventsOf<typeof creativeSessionEvents>;
export type CreativeSessionStarted = z.infer<typeof CreativeSessionStarted>;
export type CreativeVariantRefined = z.infer<typeof CreativeVariantRefined>;
export type CreativeVariantsEvaluated = z.infer<typeof CreativeVariantsEvaluated>;
