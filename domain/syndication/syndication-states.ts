import type { AtAgent, JsonMembers, SyndicationStatus } from './resource.ts';

/** Nothing else changes a status. */

type StateName = SyndicationStatus | 'NONE';

interface Step {
  readonly from: readonly StateName[];
  readonly to?: SyndicationStatus;
}

export const steps = {
  /** From FAILED: retries. */
  on: { from: ['NONE', 'FAILED', 'DISABLED'], to: 'PENDING' },
  /** From DISABLED: retries a delete. */
  off: { from: ['NONE', 'PENDING', 'SYNCING', 'COMPLETED', 'FAILED', 'DISABLED'], to: 'DISABLED' },
  refresh: { from: ['COMPLETED'], to: 'PENDING' },
  start: { from: ['PENDING'], to: 'SYNCING' },
  retry: { from: ['PENDING', 'SYNCING', 'DISABLED'] },
  complete: { from: ['SYNCING'], to: 'COMPLETED' },
  fail: { from: ['PENDING', 'SYNCING'], to: 'FAILED' },
  withdraw: { from: ['DISABLED'] },
} as const satisfies Readonly<Record<string, Step>>;

export type StepName = keyof typeof steps;

export const isStepFrom = (step: StepName, status: StateName): boolean =>
  (steps[step].from as readonly StateName[]).includes(status);

interface StatusAtAgent {
  readonly status: SyndicationStatus;
  readonly atAgent: AtAgent;
}

export const isOn = ({ status }: Pick<StatusAtAgent, 'status'>): boolean => status !== 'DISABLED';

/** A worker must send it, or have the agent delete it. */
export const isWaiting = ({ status, atAgent }: StatusAtAgent): boolean =>
  status === 'PENDING' || status === 'SYNCING' || (status === 'DISABLED' && atAgent.is === 'DROPPING');

/** The agent could not be asked to delete: it may still store the resource, with members removed since. */
export const wasLeftThere = ({ status, atAgent }: StatusAtAgent): boolean =>
  status === 'DISABLED' && atAgent.is === 'LEFT';

/** Includes PENDING records: a delete of another resource names them among those to keep. */
export const mayBeThere = ({ status, atAgent }: StatusAtAgent): boolean =>
  status === 'PENDING' || (atAgent.is !== 'NOTHING' && atAgent.is !== 'LEFT');

export const olderAt = (atAgent: AtAgent): JsonMembers | undefined =>
  'older' in atAgent ? atAgent.older : undefined;
