import { accept, refuse, type Decision } from '../decision.ts';
import {
  creativeSessionEvents,
  type CreativeSessionEvent,
  type CreativeSessionStarted,
  type CreativeVariantRefined,
  type CreativeVariantsEvaluated,
} from './events.ts';
import type { CreativeSession, Variant } from './resource.ts';

export const CREATIVE_SESSION = 'creativeSession';

export const creativeSessionStream = (customerId: number, sessionId: string): string =>
  `${CREATIVE_SESSION}-${customerId}-${sessionId}`;

export type CreativeSessionState = { readonly status: 'none' } | CreativeSession;

const initialState = { status: 'none' } as const;

/** Bounds, because each command on a session folds all its variants and evaluations. */
const VARIANTS_MAX = 20;
const STAGES_MAX = 10;

const evolve = (state: CreativeSessionState, event: CreativeSessionEvent): CreativeSessionState => {
  const at = event.occurredAt;
  if (event.type === 'CreativeSessionStarted') return started(event.data, at);
  if (state.status === 'none') return state;
  // The clocks of nodes differ: with an earlier time a session would move behind a page cursor.
  const updatedAt = at > state.updatedAt ? at : state.updatedAt;
  const next = { ...state, revision: state.revision + 1, updatedAt };
  switch (event.type) {
    case 'CreativeVariantRefined':
      return { ...next, status: 'refining', variants: [...state.variants, refined(event.data, at)] };
    case 'CreativeVariantsEvaluated':
      return {
        ...next,
        status: 'evaluating',
        variants: state.variants.map((variant) => evaluated(variant, event.data, at)),
      };
    case 'CreativeSessionFinalized':
      return { ...next, status: 'finalized', final: event.data };
    default:
      return (event satisfies never, state);
  }
};

const started = ({ variants, ...session }: CreativeSessionStarted, at: string): CreativeSession => ({
  ...session,
  status: 'drafting',
  variants: variants.map((made) => ({ ...made, selected: false, evaluations: [], createdAt: at })),
  revision: 1,
  createdAt: at,
  updatedAt: at,
});

const refined = ({ variant, refinedFrom, feedback }: CreativeVariantRefined, at: string): Variant => ({
  ...variant,
  refinedFrom,
  feedback,
  selected: true,
  evaluations: [],
  createdAt: at,
});

const evaluated = (
  variant: Variant,
  { stage, evaluations }: CreativeVariantsEvaluated,
  evaluatedAt: string,
): Variant => {
  const mine = evaluations.find(({ variantId }) => variantId === variant.variantId);
  if (mine === undefined) return variant;
  const { score, notes } = mine;
  return { ...variant, evaluations: [...variant.evaluations, { stage, score, notes, evaluatedAt }] };
};

export interface RefinementRequest {
  readonly variantId: string;
  readonly expectedRevision?: number | undefined;
}

export type CreativeSessionCommand =
  | { readonly type: 'StartSession'; readonly now: string; readonly session: CreativeSessionStarted }
  | (RefinementRequest & {
      readonly type: 'RefineVariant';
      readonly now: string;
      readonly feedback: string;
      readonly refined: CreativeVariantRefined['variant'];
    })
  | (CreativeVariantsEvaluated & { readonly type: 'EvaluateVariants'; readonly now: string })
  | {
      readonly type: 'FinalizeSession';
      readonly now: string;
      readonly variantId: string;
      readonly creativeId: string;
    };

export type CreativeSessionRefusal =
  | { readonly reason: 'not-found' | 'already-exists' | 'unknown-variant' | 'not-chosen' }
  | { readonly reason: 'finalized'; readonly variantId: string; readonly creativeId: string }
  | { readonly reason: 'too-many-variants' | 'too-many-stages'; readonly limit: number }
  | { readonly reason: 'stale'; readonly expectedRevision: number; readonly currentRevision: number };

type SessionDecision = Decision<CreativeSessionEvent, CreativeSessionRefusal>;

const whyClosed = ({ final }: CreativeSession): CreativeSessionRefusal | undefined =>
  final && { reason: 'finalized', ...final };

const variantOf = ({ variants }: CreativeSession, wanted: string): Variant | undefined =>
  variants.find(({ variantId }) => variantId === wanted);

/** Checked before an engine is called, too. */
export const whyNotRefine = (
  session: CreativeSession,
  { variantId, expectedRevision }: RefinementRequest,
): CreativeSessionRefusal | undefined => {
  if (variantOf(session, variantId) === undefined) return { reason: 'unknown-variant' };
  if (expectedRevision !== undefined && expectedRevision !== session.revision) {
    return { reason: 'stale', expectedRevision, currentRevision: session.revision };
  }
  if (session.final !== undefined) return whyClosed(session);
  return session.variants.length < VARIANTS_MAX
    ? undefined
    : { reason: 'too-many-variants', limit: VARIANTS_MAX };
};

/** Checked before an engine is called, too. */
export const whyNotEvaluate = (
  session: CreativeSession,
  stage: string,
): CreativeSessionRefusal | undefined => {
  if (session.final !== undefined) return whyClosed(session);
  const stages = new Set(session.variants.flatMap(({ evaluations }) => evaluations.map((one) => one.stage)));
  return stages.has(stage) || stages.size < STAGES_MAX
    ? undefined
    : { reason: 'too-many-stages', limit: STAGES_MAX };
};

/** Once undefined, it stays so: variants stay evaluated or selected. Finalizing cannot fail afterwards. */
export const whyNotFinalize = (
  session: CreativeSession,
  variantId: string,
): CreativeSessionRefusal | undefined => {
  const variant = variantOf(session, variantId);
  if (variant === undefined) return { reason: 'unknown-variant' };
  if (session.final !== undefined) {
    return session.final.variantId === variantId ? undefined : whyClosed(session);
  }
  return variant.selected || variant.evaluations.length > 0 ? undefined : { reason: 'not-chosen' };
};

export const notEvaluatedAt = ({ variants }: CreativeSession, stage: string): readonly Variant[] =>
  variants.filter(({ evaluations }) => evaluations.every((one) => one.stage !== stage));

const decide = (command: CreativeSessionCommand, state: CreativeSessionState): SessionDecision => {
  const occurredAt = command.now;
  if (command.type === 'StartSession') {
    return state.status === 'none'
      ? accept({ type: 'CreativeSessionStarted', data: command.session, occurredAt })
      : refuse({ reason: 'already-exists' });
  }
  if (state.status === 'none') return refuse({ reason: 'not-found' });
  switch (command.type) {
    case 'RefineVariant': {
      const { variantId: refinedFrom, feedback, refined: variant } = command;
      const refusal = whyNotRefine(state, command);
      if (refusal !== undefined) return refuse(refusal);
      return accept({
        type: 'CreativeVariantRefined',
        data: { refinedFrom, feedback, variant },
        occurredAt,
      });
    }
    case 'EvaluateVariants': {
      const { stage } = command;
      const refusal = whyNotEvaluate(state, stage);
      if (refusal !== undefined) return refuse(refusal);
      const left = new Set(notEvaluatedAt(state, stage).map(({ variantId }) => variantId));
      const evaluations = command.evaluations.filter(({ variantId }) => left.has(variantId));
      if (evaluations.length === 0) return accept();
      return accept({ type: 'CreativeVariantsEvaluated', data: { stage, evaluations }, occurredAt });
    }
    case 'FinalizeSession': {
      const { variantId, creativeId } = command;
      const refusal = whyNotFinalize(state, variantId);
      if (refusal !== undefined) return refuse(refusal);
      if (state.final !== undefined) return accept();
      return accept({ type: 'CreativeSessionFinalized', data: { variantId, creativeId }, occurredAt });
    }
    default:
      return command satisfies never;
  }
};

export const creativeSessionFold = {
  category: CREATIVE_SESSION,
  stream: creativeSessionStream,
  events: creativeSessionEvents,
  initialState,
  evolve,
};
export const creativeSessionAggregate = { ...creativeSessionFold, decide };
