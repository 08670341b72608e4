import { accept, refuse, type Decision } from '../decision.ts';
import { agentEvents, type AgentEvent } from './events.ts';
import type { Agent, AgentRegistered, SyncTask } from './resource.ts';

export const AGENT = 'agent';

export const agentStream = (customerId: number, agentId: string): string =>
  `${AGENT}-${customerId}-${agentId}`;

export type AgentState = { readonly status: 'NONE' } | Agent;

const initialState = { status: 'NONE' } as const;

const evolve = (state: AgentState, event: AgentEvent): AgentState => {
  const updatedAt = event.occurredAt;
  if (event.type === 'AgentRegistered') {
    return { ...event.data, status: 'ACTIVE', createdAt: updatedAt, updatedAt };
  }
  if (state.status === 'NONE') return state;
  switch (event.type) {
    case 'AgentUnreachable':
      return { ...state, status: 'UNREACHABLE', unreachable: event.data, updatedAt };
    case 'AgentAnswered': {
      const { supportedTasks = state.supportedTasks } = event.data;
      return { ...state, status: 'ACTIVE', unreachable: undefined, supportedTasks, updatedAt };
    }
    case 'AgentRemoved':
      return { ...state, status: 'REMOVED', updatedAt };
    default:
      return (event satisfies never, state);
  }
};

export type AgentCommand =
  | {
      readonly type: 'RegisterAgent';
      readonly now: string;
      readonly agent: AgentRegistered;
      /** Why the agent does not answer. Undefined when it answered or was not called. */
      readonly silence?: string | undefined;
    }
  | {
      readonly type: 'RecordAgentCheck';
      readonly now: string;
      /** Number of earlier checks. A second check with the same number is a repeat. */
      readonly checks: number;
      readonly found:
        | { readonly silence: string }
        | { readonly silence?: undefined; readonly supportedTasks: SyncTask[] | undefined };
    }
  | { readonly type: 'RemoveAgent'; readonly now: string };

export interface AgentRefusal {
  readonly reason: 'not-found' | 'already-exists';
}

/** The first check follows soon: an agent may only be slow, or start together with the service. */
const CHECK_MS = { first: 1_000, most: 6 * 60 * 60 * 1_000 };
/** About 30 days: after 1 s, 2 s, 4 s ..., then every 6 h. */
const CHECKS_MAX = 135;

/** Undefined after the last check. */
const nextCheckAt = (now: string, checks: number): string | undefined => {
  if (checks >= CHECKS_MAX) return undefined;
  const afterMs = Math.min(CHECK_MS.first * 2 ** (checks - 1), CHECK_MS.most);
  return new Date(Date.parse(now) + afterMs).toISOString();
};

const unreachable = (reason: string, checks: number, occurredAt: string): AgentEvent => {
  const next = nextCheckAt(occurredAt, checks);
  const data = { reason, checks, ...(next === undefined ? {} : { nextCheckAt: next }) };
  return { type: 'AgentUnreachable', data, occurredAt };
};

const decide = (command: AgentCommand, state: AgentState): Decision<AgentEvent, AgentRefusal> => {
  switch (command.type) {
    case 'RegisterAgent':
      if (state.status !== 'NONE') return refuse({ reason: 'already-exists' });
      return accept(
        { type: 'AgentRegistered', data: command.agent, occurredAt: command.now },
        ...(command.silence === undefined ? [] : [unreachable(command.silence, 1, command.now)]),
      );
    case 'RecordAgentCheck': {
      const isDue = state.status === 'UNREACHABLE' && state.unreachable?.checks === command.checks;
      if (!isDue) return accept();
      const { found, now, checks } = command;
      if (found.silence !== undefined) return accept(unreachable(found.silence, checks + 1, now));
      const { supportedTasks } = found;
      const data = supportedTasks === undefined ? {} : { supportedTasks };
      return accept({ type: 'AgentAnswered', data, occurredAt: now });
    }
    case 'RemoveAgent':
      if (state.status === 'NONE' || state.status === 'REMOVED') return refuse({ reason: 'not-found' });
      return accept({ type: 'AgentRemoved', data: {}, occurredAt: command.now });
    default:
      return command satisfies never;
  }
};

export const agentFold = {
  category: AGENT,
  stream: agentStream,
  events: agentEvents,
  initialState,
  evolve,
};
export const agentAggregate = { ...agentFold, decide };
