import { z } from 'zod';
import { VariantCopy, type CreativeSession } from '../../domain/creative-sessions/resource.ts';
import { timeout } from '../../shared/async/timeout.ts';
import { NotDoneError } from '../../shared/http/errors.ts';

export type CreativeBrief = Pick<CreativeSession, 'title' | 'prompt' | 'formatKind'>;

export const briefOf = ({ title, prompt, formatKind }: CreativeBrief): CreativeBrief => ({
  title,
  prompt,
  formatKind,
});

export interface EngineCall {
  /** Equal for repeats of a request, so that an engine can deduplicate calls. */
  readonly key: string;
  readonly signal: AbortSignal;
}

export interface EvaluatedCopy {
  readonly index: number;
  /** From 0 to 100. */
  readonly score: number;
  readonly notes?: string | undefined;
}

/** An engine may be remote, slow, or fail. It is called before the command, so a failed call has no effect. */
export interface CreativeEngine {
  readonly generate: (brief: CreativeBrief, call: EngineCall) => Promise<readonly VariantCopy[]>;
  readonly refine: (
    brief: CreativeBrief,
    asked: { readonly copy: VariantCopy; readonly feedback: string },
    call: EngineCall,
  ) => Promise<VariantCopy>;
  readonly evaluate: (
    brief: CreativeBrief,
    asked: { readonly stage: string; readonly copies: readonly VariantCopy[] },
    call: EngineCall,
  ) => Promise<readonly EvaluatedCopy[]>;
}

export interface CreativeEngines {
  /** @param connectionId default: the built-in engine @returns undefined without such a live connection */
  readonly engineOf: (
    customerId: number,
    connectionId: string | undefined,
  ) => Promise<CreativeEngine | undefined>;
}

/** Shorter than the request timeout, so that the answer can state that nothing was done. */
const ANSWER_MS_MAX = 2_000;

const [SLOTS_MAX, SLOT_NAME_MAX, TEXT_MAX, NOTES_MAX] = [10, 50, 1_000, 500];
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

/** @throws NotDoneError without a valid answer within the time limit; nothing was done then */
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
      'The creative engine gave no valid answer. Nothing was done: repeat the request after Retry-After.',
      error,
    );
  }
};
