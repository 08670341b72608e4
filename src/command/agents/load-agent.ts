import { agentEvents } from '../../domain/agents/agent-events.ts';
import { agentDecider, agentStream, type Agent } from '../../domain/agents/agent.ts';
import { loadState } from '../../shared/command/execute-command.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';

/** An agent as its stream says now; undefined when there is none, or none any more. */
export const loadAgent = async (
  store: EventStore,
  customerId: number,
  agentId: string,
): Promise<Agent | undefined> => {
  const agent = await loadAgentOfAnyTime(store, customerId, agentId);
  return agent?.status === 'ACTIVE' ? agent : undefined;
};

/** The same, also of one that was removed since. */
export const loadAgentOfAnyTime = async (
  store: EventStore,
  customerId: number,
  agentId: string,
): Promise<Agent | undefined> => {
  const type = { decider: agentDecider, events: agentEvents };
  const state = await loadState(store, type, agentStream(customerId, agentId));
  return state.status === 'NONE' ? undefined : state;
};
