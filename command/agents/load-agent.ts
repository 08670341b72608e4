import { agentAggregate, type Agent, type AgentRefusal } from '../../domain/agents/agent.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';

/** Every reason an agent's command can be refused for, and what the caller is told. */
const agentRefused = ({ reason }: AgentRefusal): ApiError => {
  switch (reason) {
    case 'not-found':
      return notFound('agent');
    case 'already-exists':
      return new ApiError({ code: 'CONFLICT', message: 'This agent exists already. Read it instead.' });
    default:
      return reason satisfies never;
  }
};

/** Commands on agents. `loadAgentOfAnyTime` also finds one that was removed. */
export const {
  run: runOnAgent,
  create: createAgent,
  execute: executeOnAgent,
  load: loadAgentOfAnyTime,
} = handlerFor(agentAggregate, agentRefused);

/** An agent as its stream says now; undefined when there is none, or none any more. */
export const loadAgent = async (
  stores: CommandStores,
  customerId: number,
  agentId: string,
): Promise<Agent | undefined> => {
  const agent = await loadAgentOfAnyTime(stores, customerId, agentId);
  return agent?.status === 'REMOVED' ? undefined : agent;
};
