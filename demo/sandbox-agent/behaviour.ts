import { z } from 'zod';

/**
 * How the agent behaves, to be changed while it runs:
 * - `works`
 * - `slow`: answers after `delayMs`
 * - `silent`: takes a call and never answers
 * - `busy`: RATE_LIMITED, transient
 * - `rejecting`: ACCOUNT_SUSPENDED, terminal
 * - `failing-items`: the call succeeds, and every item in it has failed
 * - `submitted`: answers at once that it has taken the call in, and does it `delayMs` later
 * - `submitted-failing`: the same, and the task fails
 */
export const Behaviour = z.strictObject({
  mode: z.enum([
    'works',
    'slow',
    'silent',
    'busy',
    'rejecting',
    'failing-items',
    'submitted',
    'submitted-failing',
  ]),
  /** Milliseconds. */
  delayMs: z.int().min(0).max(86_400_000),
});
export type Behaviour = z.infer<typeof Behaviour>;
