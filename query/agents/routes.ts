import { z } from 'zod';
import { agentIdOf, agentResource, AgentResource, type Agent } from '../../domain/agents/agent-resource.ts';
import { notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Route } from '../../shared/http/route.ts';
import { boundedText, pageOf, pagingParameters } from '../../shared/http/schemas.ts';
import { behind } from '../resources/behind.ts';
import { equal, listPage, uncounted, type List } from '../resources/list-page.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';

const path = '/api/v2/buyer/adcp-agents';
const tag = 'AdCP Agents';

const agents: List = {
  readModel: 'agents',
  table: 'adcp_agents',
  at: 'created_at',
  listed: `status = 'ACTIVE'`,
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

/** One list under two names. */
export const agentLists = [
  listUnder(path, 'listAdcpAgents', 'The agents of the account, newest first'),
  listUnder('/api/v2/buyer/sales-agents', 'listSalesAgents', 'The same under another name'),
] as const;

/** Agents of decisions.md section 2. */
export const agentReadRoutes = (reads: ResourceReads): readonly Route[] => [
  ...agentLists.map((list) => listRoute(reads, list)),
  detailRoute(reads),
];

const listRoute = (reads: ResourceReads, list: (typeof agentLists)[number]): Route =>
  route({
    ...list,
    responses: { 200: { description: 'One page', data: z.array(AgentResource), paginated: true } },
    handle: async ({ query, request }) => {
      const { skip, take } = pageOf(query);
      const { customerId } = request.principal;
      const { items, total } = await listPage(reads, agents, { customerId }, [], { skip, take }).catch(
        behind,
      );
      const data = (JSON.parse(items) as readonly Agent[]).map(agentResource);
      return { status: 200, data, pagination: { skip, take, total, hasMore: skip + data.length < total } };
    },
  });

export const agentRead = declaration({
  method: 'get',
  path: `${path}/{id}`,
  operationId: 'getAdcpAgent',
  summary: 'One agent',
  tag,
  access: 'exchange:read',
  params: z.object({ id: boundedText(1, 100).meta({ description: 'Id of the agent.' }) }),
});

const detailRoute = (reads: ResourceReads): Route =>
  route({
    ...agentRead,
    responses: { 200: { description: 'The agent', data: AgentResource } },
    handle: async ({ params: { id }, request }) => {
      const agentId = agentIdOf(id);
      if (agentId === undefined) throw notFound('agent');
      const { customerId } = request.principal;
      const wanted = uncounted(equal('id', agentId));
      const page = { skip: 0, take: 1 };
      const { items } = await listPage(reads, agents, { customerId }, wanted, page).catch(behind);
      const [agent] = JSON.parse(items) as readonly Agent[];
      if (agent === undefined) throw notFound('agent');
      return { status: 200, data: agentResource(agent) };
    },
  });
