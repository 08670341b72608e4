import { accept, refuse, type Decider, type Decision } from '../decision.ts';
import type { AgentEvent, AgentRegistered } from './agent-events.ts';
import type { Agent } from './agent-resource.ts';

export type { Agent } from './agent-resource.ts';

/** Category of the streams: their names begin with it. */
export const AGENT = 'agent';

/**
 * The stream of one agent; the account is part of its name.
 * @param agentId UUID
 */
export const agentStream = (customerId: number, agentId: string): string =>
  `${AGENT}-${customerId}-${agentId}`;

export type AgentState = { readonly status: 'NONE' } | Agent;

export const initialState: AgentState = { status: 'NONE' };

export const evolve = (state: AgentState, event: AgentEvent): AgentState => {
  const at = event.occurredAt;
  switch (event.type) {
    case 'AgentRegistered':
      return { ...event.data, status: 'ACTIVE', createdAt: at, updatedAt: at };
    case 'AgentRemoved':
      return state.status === 'NONE' ? state : { ...state, status: 'REMOVED', updatedAt: at };
    default:
      return (event satisfies never, state);
  }
};

export type AgentCommand =
  | { readonly type: 'RegisterAgent'; readonly now: string; readonly agent: AgentRegistered }
  | { readonly type: 'RemoveAgent'; readonly now: string };

export interface AgentRefusal {
  readonly reason: 'not-found' | 'already-exists';
}

const decide = (command: AgentCommand, state: AgentState): Decision<AgentEvent, AgentRefusal> => {
  switch (command.type) {
    case 'RegisterAgent':
      if (state.status !== 'NONE') return refuse({ reason: 'already-exists' });
      return accept({ type: 'AgentRegistered', data: command.agent, occurredAt: command.now });
    case 'RemoveAgent':
      if (state.status !== 'ACTIVE') return refuse({ reason: 'not-found' });
      return accept({ type: 'AgentRemoved', data: {}, occurredAt: command.now });
    default:
      return command satisfies never;
  }
};

export const agentDecider: Decider<AgentState, AgentCommand, AgentEvent, AgentRefusal> = {
  initialState,
  evolve,
  decide,
};
