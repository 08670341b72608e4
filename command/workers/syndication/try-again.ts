import type { WorkResult } from '../../../shared/work-list/work-list.ts';

/** This run cannot finish the generation now; `syndicationWork` turns it into a result. */
export class TryAgainError extends Error {
  override readonly name = 'TryAgainError';
  readonly result: Extract<WorkResult, { is: 'again' }>;

  /** @param isTry counts as an attempt: the agent was called, and the call failed */
  constructor(
    reason: string,
    { afterMs = 0, isTry }: { readonly afterMs?: number; readonly isTry: boolean },
  ) {
    super(reason);
    this.result = { is: 'again', afterMs, isTry, reason };
  }
}
