import type { WorkResult } from '../../../shared/work-list/work-list.ts';

/** This run cannot finish the generation now; `syndicationWork` turns it into a result. */
export class TryAgainError extends Error {
  override readonly name = 'TryAgainError';
  readonly result: Extract<WorkResult, { is: 'again' }>;

  /**
   * @param isTry counts as an attempt: the agent was called, and the call failed
   * @param agentMs how long the agent wants no call, also for a new generation
   */
  constructor(
    reason: string,
    {
      agentMs = 0,
      afterMs = agentMs,
      isTry,
    }: { readonly agentMs?: number; readonly afterMs?: number; readonly isTry: boolean },
  ) {
    super(reason);
    this.result = { is: 'again', afterMs, holdMs: agentMs, isTry, reason };
  }
}
