import type { WorkResult } from '../../../shared/work-list/work-list.ts';

/** This run cannot finish the generation now: `syndicationWork` makes the result of it. */
export class TryAgainError extends Error {
  override readonly name = 'TryAgainError';
  readonly result: Extract<WorkResult, { is: 'again' }>;

  /** @param isTry counts as one of the tries of the generation: the agent was called, and it failed */
  constructor(
    reason: string,
    { afterMs = 0, isTry }: { readonly afterMs?: number; readonly isTry: boolean },
  ) {
    super(reason);
    this.result = { is: 'again', afterMs, isTry, reason };
  }
}
