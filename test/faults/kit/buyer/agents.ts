import { agentStream } from '../../../../domain/agents/agent.ts';
import { agentIdOf, agentResource, type Agent } from '../../../../domain/agents/resource.ts';
import type { Command } from '../command.ts';
import type { Random } from '../random.ts';
import { REFUSED_PROBABILITY, type Choice, type ClientState, type OwnAgent } from './client-state.ts';

const path = '/api/v2/buyer/adcp-agents';

const streamOf = (own: ClientState, shownId: string): string =>
  agentStream(own.customerId, agentIdOf(shownId) ?? '');

export const registerAgent = (own: ClientState, key: string): Command => ({
  kind: `register agent ${key}`,
  method: 'POST',
  url: path,
  body: {
    name: key,
    protocol: 'MCP',
    url: own.agent?.url,
    auth: { type: 'bearer', token: own.agent?.token },
  },
  sent: 'keyed',
  expected: 'ok',
  status: 201,
  event: 'AgentRegistered',
  stream: ({ id }) => streamOf(own, id as string),
  answer: ({ state }) => agentResource(state as Agent),
  done: (data) => {
    const id = data['id'] as string;
    own.agents.push({ id, isRemoved: false });
    return { url: `${path}/${id}`, shown: data };
  },
  lost: () => undefined,
});

export const commandOnAgent = (own: ClientState, target: OwnAgent, key: string, random: Random): Choice => {
  // A repeated removal is refused.
  if (target.isRemoved && !random.chance(REFUSED_PROBABILITY * 4)) return registerAgent(own, key);
  const url = `${path}/${target.id}`;
  return {
    kind: `remove agent ${target.id}`,
    method: 'DELETE',
    url,
    sent: 'keyed',
    expected: target.isRemoved ? 'refused' : 'ok',
    status: 204,
    event: 'AgentRemoved',
    stream: () => streamOf(own, target.id),
    answer: () => undefined,
    done: () => {
      target.isRemoved = true;
      return { url, shown: undefined };
    },
    lost: () => void own.agents.splice(own.agents.indexOf(target), 1),
  };
};
