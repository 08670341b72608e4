import { z } from 'zod';
import { shownCampaignId } from '../campaigns/resource.ts';
import { shownCreativeId } from '../creatives/creative-resource.ts';
import { FormatKind } from '../creatives/format-kinds-resource.ts';
import { shownIds } from '../shown-id.ts';
import { Timestamp } from '../values.ts';

const SessionStatus = z.enum(['drafting', 'refining', 'evaluating', 'finalized']);

/** A session in lists and answers of writes: exactly these six members (specification, Creative session). */
export const CreativeSessionResource = z
  .strictObject({
    id: z.string(),
    campaignId: z.string(),
    title: z.string(),
    status: SessionStatus,
    revision: z.int().min(1),
    updatedAt: Timestamp,
  })
  .meta({ id: 'CreativeSession' });
export type CreativeSessionResource = z.infer<typeof CreativeSessionResource>;

export const VariantCopy = z.record(z.string(), z.string());
export type VariantCopy = z.infer<typeof VariantCopy>;

const Evaluation = z.strictObject({
  stage: z.string(),
  score: z.number().min(0).max(100),
  notes: z.string().optional(),
  evaluatedAt: Timestamp,
});

/** A proposal of the engine. It never changes: a refinement creates another variant. */
const variant = {
  copy: VariantCopy,
  feedback: z.string().optional(),
  /** The buyer requested this variant by refining another. */
  selected: z.boolean(),
  evaluations: z.array(Evaluation),
  createdAt: Timestamp,
};

const VariantResource = z.strictObject({ id: z.string(), refinedFrom: z.string().optional(), ...variant });

export const CreativeSessionDetail = CreativeSessionResource.extend({
  prompt: z.string().optional(),
  connectionId: z.string().optional(),
  formatKind: FormatKind,
  variants: z.array(VariantResource),
  finalVariantId: z.string().optional().meta({ description: 'Present once finalized.' }),
  creativeId: z.string().optional().meta({ description: 'Present once finalized.' }),
  createdAt: Timestamp,
}).meta({ id: 'CreativeSessionDetail' });
export type CreativeSessionDetail = z.infer<typeof CreativeSessionDetail>;

export const FinalizedSession = z
  .strictObject({ session: CreativeSessionResource, creativeId: z.string() })
  .meta({ id: 'FinalizedCreativeSession' });

export interface Variant {
  readonly variantId: string;
  readonly refinedFrom?: string | undefined;
  readonly copy: VariantCopy;
  readonly feedback?: string | undefined;
  readonly selected: boolean;
  readonly evaluations: readonly z.infer<typeof Evaluation>[];
  readonly createdAt: string;
}

/** A session folded from its events. Ids are UUIDs. */
export interface CreativeSession {
  readonly sessionId: string;
  readonly customerId: number;
  readonly campaignId: string;
  readonly title: string;
  readonly prompt?: string | undefined;
  /** As sent. Default: the built-in engine. */
  readonly connectionId?: string | undefined;
  readonly formatKind: z.infer<typeof FormatKind>;
  readonly status: z.infer<typeof SessionStatus>;
  readonly variants: readonly Variant[];
  readonly final?: { readonly variantId: string; readonly creativeId: string } | undefined;
  /** Number of commands that changed the session, its start included. */
  readonly revision: number;
  readonly createdAt: string;
  /** Never decreases, even when the clocks of the nodes differ. */
  readonly updatedAt: string;
}

const sessionIds = shownIds('ses_');
export const shownSessionId = sessionIds.shown;
export const sessionIdOf = sessionIds.idOf;

const variantIds = shownIds('var_');
export const shownVariantId = variantIds.shown;
export const variantIdOf = variantIds.idOf;

export const creativeSessionResource = (session: CreativeSession): CreativeSessionResource => ({
  id: shownSessionId(session.sessionId),
  campaignId: shownCampaignId(session.campaignId),
  title: session.title,
  status: session.status,
  revision: session.revision,
  updatedAt: session.updatedAt,
});

export const creativeSessionDetail = (session: CreativeSession): CreativeSessionDetail => ({
  ...creativeSessionResource(session),
  prompt: session.prompt,
  connectionId: session.connectionId,
  formatKind: session.formatKind,
  variants: session.variants.map(({ variantId, refinedFrom, evaluations, ...shown }) => ({
    id: shownVariantId(variantId),
    refinedFrom: refinedFrom === undefined ? undefined : shownVariantId(refinedFrom),
    ...shown,
    evaluations: [...evaluations],
  })),
  finalVariantId: session.final && shownVariantId(session.final.variantId),
  creativeId: session.final && shownCreativeId(session.final.creativeId),
  createdAt: session.createdAt,
});
