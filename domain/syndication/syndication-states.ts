import type { AtAgent, JsonMembers, SyndicationStatus } from './syndication-resource.ts';

/** The states of a syndication record and every step between them. Nothing else changes a status. */

type StateName = SyndicationStatus | 'NONE';

interface Step {
  readonly from: readonly StateName[];
  /** Absent: the status stays. */
  readonly to?: SyndicationStatus;
}

export const steps = {
  /** Switched on. From FAILED: it is tried again. */
  on: { from: ['NONE', 'FAILED', 'DISABLED'], to: 'PENDING' },
  /** Switched off. From DISABLED: only where the agent could not be told to drop it, which is tried again. */
  off: { from: ['NONE', 'PENDING', 'SYNCING', 'COMPLETED', 'FAILED', 'DISABLED'], to: 'DISABLED' },
  /** The resource was changed after the agent had taken it. */
  refresh: { from: ['COMPLETED'], to: 'PENDING' },
  /** What the agent is asked for is fixed, and the agent is asked. */
  start: { from: ['PENDING'], to: 'SYNCING' },
  /** A try came to nothing; the next one is due later. */
  retry: { from: ['PENDING', 'SYNCING', 'DISABLED'] },
  complete: { from: ['SYNCING'], to: 'COMPLETED' },
  fail: { from: ['PENDING', 'SYNCING'], to: 'FAILED' },
  /** The agent was told to drop it, or could not be. */
  withdraw: { from: ['DISABLED'] },
} as const satisfies Readonly<Record<string, Step>>;

export type StepName = keyof typeof steps;

export const isStepFrom = (step: StepName, status: StateName): boolean =>
  (steps[step].from as readonly StateName[]).includes(status);

interface Placed {
  readonly status: SyndicationStatus;
  readonly atAgent: AtAgent;
}

export const isOn = ({ status }: Pick<Placed, 'status'>): boolean => status !== 'DISABLED';

/** Whether a worker has something to do: bring it to its agent, or have the agent drop it. */
export const isWaiting = ({ status, atAgent }: Placed): boolean =>
  status === 'PENDING' || status === 'SYNCING' || (status === 'DISABLED' && atAgent.is === 'DROPPING');

/** It is off, and the agent could not be told: the agent may still have it, and in it members that were removed since. */
export const wasLeftThere = ({ status, atAgent }: Placed): boolean =>
  status === 'DISABLED' && atAgent.is === 'LEFT';

/**
 * The agent may have it. So may the agent of a PENDING record: one that is to drop something else is told of it among what
 * stays.
 */
export const mayBeThere = ({ status, atAgent }: Placed): boolean =>
  status === 'PENDING' || (atAgent.is !== 'NOTHING' && atAgent.is !== 'LEFT');

/** The state of it that the agent has kept from before this generation, as far as that is known. */
export const olderAt = (atAgent: AtAgent): JsonMembers | undefined =>
  'older' in atAgent ? atAgent.older : undefined;
