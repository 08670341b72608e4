import { agentAggregate, type AgentRefusal } from '../../domain/agents/agent.ts';
import type { Agent } from '../../domain/agents/resource.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import { alreadyExists, notFound } from '../../shared/http/errors.ts';
import { refusals } from '../../shared/http/refusals.ts';

const agentRefused = refusals<AgentRefusal>({
  'not-found': () => notFound('agent'),
  'already-exists': () => alreadyExists('agent'),
});

export const {
  run: runOnAgent,
  create: createAgent,
  execute: executeOnAgent,
  load: loadAgentOfAnyTime,
} = handlerFor(agentAggregate, agentRefused);

export const loadAgent = async (
  stores: CommandStores,
  customerId: number,
  agentId: string,
): Promise<Agent | undefined> => {
  const agent = await loadAgentOfAnyTime(stores, customerId, agentId);
  return agent?.status === 'REMOVED' ? undefined : agent;
};
