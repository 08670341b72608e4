import { z } from 'zod';
import { FormatKind } from '../../domain/creatives/format-kinds-resource.ts';
import { boundedText } from '../../shared/http/schemas.ts';

/** Request bodies of creative sessions (decisions.md section 2). Unknown members are ignored. */

const stage = boundedText(1, 64);

export const StartCreativeSessionBody = z
  .object({
    title: boundedText(1, 255),
    prompt: boundedText(0, 5_000).optional(),
    connectionId: boundedText(1, 255)
      .optional()
      .meta({ description: 'A live creative-engine connection. Default: the built-in engine.' }),
    formatKind: FormatKind.optional().meta({ description: 'Default: responsive_creative.' }),
  })
  .meta({ id: 'StartCreativeSession' });

export const RefineVariantBody = z
  .object({
    feedback: boundedText(1, 2_000),
    expectedRevision: z.int().min(1).optional().meta({
      description: 'The revision that the feedback was given on; another one is refused with 409.',
    }),
  })
  .meta({ id: 'RefineVariant' });

export const EvaluateSessionBody = z
  .object({ stage: stage.meta({ description: 'Name of the evaluation stage, free text.' }) })
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
