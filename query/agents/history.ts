import { agentIdOf, agentResource, shownAgentId, type Agent } from '../../domain/agents/resource.ts';
import { agentFold, agentStream } from '../../domain/agents/agent.ts';
import { auditedKind, type ListRead } from '../resources/audited-kind.ts';
import { byShownId, each, lastFirst, streamsByShownId } from '../resources/resource-paths.ts';
import { agentLists, agentPlace, agentRead } from './routes.ts';

export const agentKind = auditedKind({
  ...agentFold,
  resourceType: 'ADCP_AGENT',
  noun: 'agent',
  live: (state) => (state.status === 'NONE' ? undefined : state),
  idOf: ({ agentId }) => shownAgentId(agentId),
  streamsOf: streamsByShownId(agentIdOf, agentStream),
  audited: (agent) => ({ ...agentResource(agent), status: agent.status }),
  nameOf: ({ name }) => name,
  place: { ...agentPlace, find: byShownId('id', agentIdOf, agentStream) },
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
