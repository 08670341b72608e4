import { z } from 'zod';

/**
 * How the agent answers calls:
 * - `works`
 * - `slow`: answers after `delayMs`
 * - `silent`: accepts a call and never answers
 * - `busy`: RATE_LIMITED, transient
 * - `rejecting`: ACCOUNT_SUSPENDED, terminal
 * - `failing-items`: the call succeeds, every item in it fails
 * - `submitted`: answers immediately with a task, and executes it `delayMs` later
 * - `submitted-failing`: the same, but the task fails
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
  delayMs: z.int().min(0).max(86_400_000),
});
export type Behaviour = z.infer<typeof Behaviour>;
