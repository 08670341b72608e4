import { agentAggregate, type Agent, type AgentRefusal } from '../../domain/agents/agent.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';

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

export const {
  run: runOnAgent,
  create: createAgent,
  execute: executeOnAgent,
  load: loadAgentOfAnyTime,
} = handlerFor(agentAggregate, agentRefused);

/** The current state of an agent; undefined when it does not exist or was removed. */
export const loadAgent = async (
  stores: CommandStores,
  customerId: number,
  agentId: string,
): Promise<Agent | undefined> => {
  const agent = await loadAgentOfAnyTime(stores, customerId, agentId);
  return agent?.status === 'REMOVED' ? undefined : agent;
};
