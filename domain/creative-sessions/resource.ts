import { z } from 'zod';
import { shownCampaignId } from '../campaigns/resource.ts';
import { FormatKind } from '../creatives/format-kinds.ts';
import { shownCreativeId } from '../creatives/resource.ts';
import { derived, fixed, membersOf, resourceShape } from '../fields.ts';
import { shownIds } from '../shown-id.ts';
import { Timestamp } from '../values.ts';

const SessionStatus = z.enum(['drafting', 'refining', 'evaluating', 'finalized']);

export const VariantCopy = z.record(z.string(), z.string());
export type VariantCopy = z.infer<typeof VariantCopy>;

const Evaluation = z.strictObject({
  stage: z.string(),
  score: z.number().min(0).max(100),
  notes: z.string().optional(),
  evaluatedAt: Timestamp,
});

/** Never changes: a refinement creates another variant. */
const VariantResource = z.strictObject({
  id: z.string(),
  refinedFrom: z.string().optional(),
  copy: VariantCopy,
  feedback: z.string().optional(),
  /** The buyer requested this variant by refining another. */
  selected: z.boolean(),
  evaluations: z.array(Evaluation),
  createdAt: Timestamp,
});

/** Events contain the engine's output, so folding a stream does not call the engine. */
export const GeneratedVariant = z.object({ variantId: z.string(), copy: VariantCopy });

/** In lists and answers of writes (specification, Creative session). */
const listedFields = {
  id: derived(z.string()),
  campaignId: fixed(z.string()),
  title: fixed(z.string()),
  status: derived(SessionStatus),
  // Number of commands that changed the session, the start included.
  revision: derived(z.int().min(1)),
  // Never decreases, even when the clocks of the nodes differ.
  updatedAt: derived(Timestamp),
};

export const creativeSessionFields = {
  ...listedFields,
  prompt: fixed(z.string().optional()),
  // As sent. Default: the built-in engine.
  connectionId: fixed(z.string().optional()),
  formatKind: fixed(FormatKind, { initial: 'responsive_creative' as const }),
  variants: fixed(z.array(VariantResource), { recorded: z.array(GeneratedVariant) }),
  finalVariantId: derived(z.string().optional().meta({ description: 'Present once finalized.' })),
  creativeId: derived(z.string().optional().meta({ description: 'Present once finalized.' })),
  createdAt: derived(Timestamp),
};

export const CreativeSessionResource = z
  .strictObject(resourceShape(listedFields))
  .meta({ id: 'CreativeSession' });
export type CreativeSessionResource = z.infer<typeof CreativeSessionResource>;

export const CreativeSessionDetail = z
  .strictObject(resourceShape(creativeSessionFields))
  .meta({ id: 'CreativeSessionDetail' });
export type CreativeSessionDetail = z.infer<typeof CreativeSessionDetail>;

export const FinalizedSession = z
  .strictObject({ session: CreativeSessionResource, creativeId: z.string() })
  .meta({ id: 'FinalizedCreativeSession' });

export interface Variant extends Omit<z.infer<typeof VariantResource>, 'id'> {
  readonly variantId: string;
}

type DerivedMember = 'id' | 'variants' | 'finalVariantId' | 'creativeId';

/** Ids are UUIDs. */
export interface CreativeSession extends Omit<CreativeSessionDetail, DerivedMember> {
  readonly sessionId: string;
  readonly customerId: number;
  readonly variants: readonly Variant[];
  readonly final?: { readonly variantId: string; readonly creativeId: string } | undefined;
}

const sessionIds = shownIds('ses_');
export const shownSessionId = sessionIds.shown;
export const sessionIdOf = sessionIds.idOf;

const variantIds = shownIds('var_');
export const shownVariantId = variantIds.shown;
export const variantIdOf = variantIds.idOf;

export const creativeSessionResource = (session: CreativeSession): CreativeSessionResource =>
  membersOf(CreativeSessionResource, {
    ...session,
    id: shownSessionId(session.sessionId),
    campaignId: shownCampaignId(session.campaignId),
  });

export const creativeSessionDetail = (session: CreativeSession): CreativeSessionDetail =>
  membersOf(CreativeSessionDetail, {
    ...session,
    ...creativeSessionResource(session),
    variants: session.variants.map(({ variantId, refinedFrom, ...variant }) => ({
      ...variant,
      id: shownVariantId(variantId),
      refinedFrom: refinedFrom === undefined ? undefined : shownVariantId(refinedFrom),
    })),
    finalVariantId: session.final && shownVariantId(session.final.variantId),
    creativeId: session.final && shownCreativeId(session.final.creativeId),
  });
