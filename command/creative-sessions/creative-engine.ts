import { z } from 'zod';
import {
  VariantCopy,
  type CreativeSession,
} from '../../domain/creative-sessions/creative-session-resource.ts';
import { timeout } from '../../shared/async/timeout.ts';
import { NotDoneError } from '../../shared/http/errors.ts';

/** What a session is about, as an engine is told. */
export type CreativeBrief = Pick<CreativeSession, 'title' | 'prompt' | 'formatKind'>;

export const briefOf = ({ title, prompt, formatKind }: CreativeBrief): CreativeBrief => ({
  title,
  prompt,
  formatKind,
});

export interface EngineCall {
  /** The same when the request is repeated: an engine that does a thing once by it does it once. */
  readonly key: string;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

export interface EvaluatedCopy {
  /** Which of the given ones, counted from 0. */
  readonly index: number;
  /** From 0 to 100. */
  readonly score: number;
  readonly notes?: string | undefined;
}

/**
 * What makes variants: the port. It may be far away, slow, or fail; then nothing has happened. It is asked before
 * anything is recorded, and what it says is recorded as it is.
 */
export interface CreativeEngine {
  readonly generate: (brief: CreativeBrief, call: EngineCall) => Promise<readonly VariantCopy[]>;
  readonly refine: (
    brief: CreativeBrief,
    asked: { readonly copy: VariantCopy; readonly feedback: string },
    call: EngineCall,
  ) => Promise<VariantCopy>;
  /** One evaluation for each of the copies. */
  readonly evaluate: (
    brief: CreativeBrief,
    asked: { readonly stage: string; readonly copies: readonly VariantCopy[] },
    call: EngineCall,
  ) => Promise<readonly EvaluatedCopy[]>;
}

/** Which engine a session has: the port to the connections. */
export interface CreativeEngines {
  /**
   * @param connectionId as it is shown; undefined for the engine that is built in
   * @returns undefined when the account has no live connection of that id
   */
  readonly engineOf: (
    customerId: number,
    connectionId: string | undefined,
  ) => Promise<CreativeEngine | undefined>;
}

/** Less than a request may take, so that who gives up can say that nothing was done. */
const ANSWER_MS_MAX = 2_000;

/** Slots of a copy, and characters of each: what an engine may say, and what a creative may hold. */
const [SLOTS_MAX, SLOT_NAME_MAX, TEXT_MAX, NOTES_MAX] = [10, 50, 1_000, 500];
/** So many variants a session begins with. */
const GENERATED_MAX = 8;

const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
const textOf = (max: number) => z.string().max(max).refine(isStorable);

const Copy = z
  .record(textOf(SLOT_NAME_MAX).min(1), textOf(TEXT_MAX))
  .pipe(VariantCopy)
  .refine((copy) => {
    const slots = Object.keys(copy).length;
    return slots > 0 && slots <= SLOTS_MAX;
  });

export const GeneratedCopies = z.array(Copy).min(1).max(GENERATED_MAX);
export const RefinedCopy = Copy;

/** @param count of the copies that were given */
export const evaluationsOf = (count: number) =>
  z
    .array(
      z.object({
        index: z.int().min(0),
        score: z.number().min(0).max(100),
        notes: textOf(NOTES_MAX).optional(),
      }),
    )
    .length(count)
    .refine((given) => new Set(given.map(({ index }) => index).filter((at) => at < count)).size === count);

/**
 * Asks an engine, for a bounded time, and takes only an answer of the form and size that was agreed on.
 * @param key of the request
 * @throws NotDoneError when there is none: nothing has happened
 */
export const askEngine = async <Answer>(
  answer: z.ZodType<Answer>,
  key: string,
  ask: (call: EngineCall) => Promise<unknown>,
  answerMsMax = ANSWER_MS_MAX,
): Promise<Answer> => {
  const ending = new AbortController();
  try {
    return answer.parse(await timeout(answerMsMax, ask({ key, signal: ending.signal })));
  } catch (error) {
    ending.abort();
    throw new NotDoneError(
      'The creative engine gave no answer that could be used. Nothing was done: repeat the request after Retry-After.',
      error,
    );
  }
};
