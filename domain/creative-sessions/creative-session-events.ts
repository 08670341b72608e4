import { z } from 'zod';
import { FormatKind } from '../creatives/format-kinds-resource.ts';
import type { EventsOf } from '../decision.ts';
import { VariantCopy } from './creative-session-resource.ts';

/** The event contains the engine's output, so folding the stream does not call the engine. */
const GeneratedVariant = z.object({ variantId: z.string(), copy: VariantCopy });

const CreativeSessionStarted = z.object({
  sessionId: z.string(),
  customerId: z.int(),
  campaignId: z.string(),
  title: z.string(),
  prompt: z.string().optional(),
  connectionId: z.string().optional(),
  formatKind: FormatKind,
  variants: z.array(GeneratedVariant),
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
