import type { AtAgent, JsonMembers, SyndicationStatus } from './syndication-resource.ts';

/** All states of a syndication record and the steps between them. Nothing else changes a status. */

type StateName = SyndicationStatus | 'NONE';

interface Step {
  readonly from: readonly StateName[];
  readonly to?: SyndicationStatus;
}

export const steps = {
  /** From FAILED: retries. */
  on: { from: ['NONE', 'FAILED', 'DISABLED'], to: 'PENDING' },
  /** From DISABLED: retries a delete that the agent could not be asked for. */
  off: { from: ['NONE', 'PENDING', 'SYNCING', 'COMPLETED', 'FAILED', 'DISABLED'], to: 'DISABLED' },
  refresh: { from: ['COMPLETED'], to: 'PENDING' },
  /** Fixes the request and calls the agent. */
  start: { from: ['PENDING'], to: 'SYNCING' },
  /** An attempt failed; the next one follows later. */
  retry: { from: ['PENDING', 'SYNCING', 'DISABLED'] },
  complete: { from: ['SYNCING'], to: 'COMPLETED' },
  fail: { from: ['PENDING', 'SYNCING'], to: 'FAILED' },
  /** The agent deleted it, or could not be asked to. */
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

/** True if a worker must send it to the agent, or have the agent delete it. */
export const isWaiting = ({ status, atAgent }: StatusAtAgent): boolean =>
  status === 'PENDING' || status === 'SYNCING' || (status === 'DISABLED' && atAgent.is === 'DROPPING');

/**
 * The record is off, but the agent could not be asked to delete: it may still have the resource, with members removed
 * since.
 */
export const wasLeftThere = ({ status, atAgent }: StatusAtAgent): boolean =>
  status === 'DISABLED' && atAgent.is === 'LEFT';

/**
 * True if the agent may have the resource. Includes PENDING records: a delete of another resource names them among
 * those to keep.
 */
export const mayBeThere = ({ status, atAgent }: StatusAtAgent): boolean =>
  status === 'PENDING' || (atAgent.is !== 'NOTHING' && atAgent.is !== 'LEFT');

/** The version that the agent has kept from before this generation, if known. */
export const olderAt = (atAgent: AtAgent): JsonMembers | undefined =>
  'older' in atAgent ? atAgent.older : undefined;
