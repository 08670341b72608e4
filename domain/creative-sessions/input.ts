import { z } from 'zod';
import { createInput } from '../fields.ts';
import { boundedText } from '../values.ts';
import { creativeSessionFields } from './resource.ts';

const {
  campaignId: _campaign,
  variants: _variants,
  ...started
} = createInput(creativeSessionFields, {
  title: boundedText(1, 255),
  prompt: boundedText(0, 5_000).optional(),
  connectionId: boundedText(1, 255)
    .optional()
    .meta({ description: 'A live creative-engine connection. Default: the built-in engine.' }),
  formatKind: creativeSessionFields.formatKind.recorded.meta({
    description: 'Default: responsive_creative.',
  }),
});

export const StartCreativeSessionBody = z.object(started).meta({ id: 'StartCreativeSession' });

export const RefineVariantBody = z
  .object({
    feedback: boundedText(1, 2_000),
    expectedRevision: z.int().min(1).optional().meta({
      description: 'The revision that the feedback was given on; another one is refused with 409.',
    }),
  })
  .meta({ id: 'RefineVariant' });

export const EvaluateSessionBody = z
  .object({ stage: boundedText(1, 64).meta({ description: 'Name of the evaluation stage, free text.' }) })
  .meta({ id: 'EvaluateCreativeSession' });

export const FinalizeSessionBody = z
  .object({
    variantId: boundedText(1, 255),
    name: boundedText(1, 255).optional().meta({
      description: "Name of the creative. Default: the session's title, with the lowest free number.",
    }),
  })
  .meta({ id: 'FinalizeCreativeSession' });

export type StartCreativeSessionBody = z.output<typeof StartCreativeSessionBody>;
export type RefineVariantBody = z.output<typeof RefineVariantBody>;
export type FinalizeSessionBody = z.output<typeof FinalizeSessionBody>;
