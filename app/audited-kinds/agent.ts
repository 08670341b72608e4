import { z } from 'zod';
import { agentIdOf, agentResource, shownAgentId, type Agent } from '../../domain/agents/agent-resource.ts';
import { agentAggregate, agentStream } from '../../domain/agents/agent.ts';
import { agentLists, agentRead } from '../../query/agents/routes.ts';
import { auditedKind, type ListRead } from '../../query/history/audited-kind.ts';
import { boundedText } from '../../shared/http/schemas.ts';
import { buyer, byShownId, each, lastFirst, streamsByShownId } from './places.ts';

export const agentKind = auditedKind({
  ...agentAggregate,
  resourceType: 'ADCP_AGENT',
  noun: 'agent',
  live: (state) => (state.status === 'NONE' ? undefined : state),
  idOf: ({ agentId }) => shownAgentId(agentId),
  streamsOf: streamsByShownId(agentIdOf, agentStream),
  audited: (agent) => ({ ...agentResource(agent), status: agent.status }),
  nameOf: ({ name }) => name,
  place: {
    path: `${buyer}/adcp-agents/{id}`,
    params: z.object({ id: boundedText(1, 100).meta({ description: 'Id of the agent.' }) }),
    tag: 'AdCP Agents',
    find: byShownId('id', agentIdOf, agentStream),
  },
  details: [
    {
      route: agentRead,
      shown: (agent) => (agent.status !== 'REMOVED' ? agentResource(agent) : undefined),
    },
  ],
  lists: agentLists.map((route): ListRead<Agent> => ({
    route,
    shown: each(agentResource),
    keeps: ({ status }) => status !== 'REMOVED',
    order: lastFirst(
      ({ createdAt }) => createdAt,
      ({ agentId }) => agentId,
    ),
  })),
});
