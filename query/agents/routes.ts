import { z } from 'zod';
import { agentIdOf, agentResource, AgentResource } from '../../domain/agents/resource.ts';
import { agentFold } from '../../domain/agents/agent.ts';
import { notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Route } from '../../shared/http/route.ts';
import { boundedText } from '../../domain/values.ts';
import { pagingParameters } from '../../shared/http/schemas.ts';
import { listRoute } from '../resources/list-route.ts';
import { stateReader, type RowReads } from '../resources/read-row.ts';
import { listAgents } from './list.ts';

const path = '/api/v2/buyer/adcp-agents';
const tag = 'AdCP Agents';

export const agentPlace = {
  path: `${path}/{id}`,
  params: z.object({ id: boundedText(1, 100).meta({ description: 'Id of the agent.' }) }),
  tag,
};

const listUnder = (at: string, operationId: string, summary: string) =>
  declaration({
    method: 'get',
    path: at,
    operationId,
    summary,
    tag,
    access: 'exchange:read',
    query: z.object(pagingParameters(200)),
  });

export const agentLists = [
  listUnder(path, 'listAdcpAgents', 'The agents of the account, newest first'),
  listUnder('/api/v2/buyer/sales-agents', 'listSalesAgents', 'The same under another name'),
] as const;

export const agentReadRoutes = (reads: RowReads): readonly Route[] => [
  ...agentLists.map((list) =>
    listRoute(list, AgentResource, (customerId, _query, page) => listAgents(reads, customerId, page)),
  ),
  detailRoute(reads),
];

export const agentRead = declaration({
  ...agentPlace,
  method: 'get',
  operationId: 'getAdcpAgent',
  summary: 'One agent',
  access: 'exchange:read',
});

const detailRoute = (reads: RowReads): Route => {
  const readAgent = stateReader(reads, { ...agentFold, readModel: 'agents', table: 'adcp_agents' });
  return route({
    ...agentRead,
    responses: { 200: { description: 'The agent', data: AgentResource } },
    handle: async ({ params: { id }, request }) => {
      const agentId = agentIdOf(id);
      const agent = agentId && (await readAgent(request.principal.customerId, agentId));
      if (!agent || agent.status === 'REMOVED') throw notFound('agent');
      return { status: 200, data: agentResource(agent) };
    },
  });
};
