import { z } from 'zod';
import { agentIdOf, agentResource, AgentResource, type Agent } from '../../domain/agents/agent-resource.ts';
import { notFound, unavailable } from '../../shared/http/errors.ts';
import { declaration, route, type RequestContext, type Route } from '../../shared/http/route.ts';
import { boundedText, pageOf, pagingParameters } from '../../shared/http/schemas.ts';
import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessSql,
  type Freshness,
} from '../../shared/read-your-writes/account-mark.ts';
import { consistentRead, ReadModelBehindError } from '../../shared/read-your-writes/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/read-your-writes/projection-progress.ts';

export interface AgentReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
}

const path = '/api/v2/buyer/adcp-agents';
const tag = 'AdCP Agents';
const projection = 'agents';

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
export const agentReadRoutes = (reads: AgentReads): readonly Route[] => [
  ...agentLists.map((list) => listRoute(reads, list)),
  detailRoute(reads),
];

const listRoute = (reads: AgentReads, list: (typeof agentLists)[number]): Route =>
  route({
    ...list,
    responses: { 200: { description: 'One page', data: z.array(AgentResource), paginated: true } },
    handle: async ({ query, request }) => {
      const { skip, take } = pageOf(query);
      const { items, total } = await read(reads, request, {
        name: 'list-agents',
        total: `(select count(*)::int from adcp_agents where customer_id = $1 and status = 'ACTIVE')`,
        rows: `(select body, created_at, id from adcp_agents where customer_id = $1 and status = 'ACTIVE'
                order by created_at desc, id desc limit $3 offset $4)`,
        values: [take, skip],
      });
      const data = items.map(agentResource);
      return {
        status: 200,
        data,
        pagination: { skip, take, total, hasMore: skip + data.length < total },
      };
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

const detailRoute = (reads: AgentReads): Route =>
  route({
    ...agentRead,
    responses: { 200: { description: 'The agent', data: AgentResource } },
    handle: async ({ params: { id }, request }) => {
      const agentId = agentIdOf(id);
      if (agentId === undefined) throw notFound('agent');
      const { items } = await read(reads, request, {
        name: 'get-agent',
        total: '1',
        rows: `(select body, created_at, id from adcp_agents
                where customer_id = $1 and id = $3 and status = 'ACTIVE')`,
        values: [agentId],
      });
      const [agent] = items;
      if (agent === undefined) throw notFound('agent');
      return { status: 200, data: agentResource(agent) };
    },
  });

interface Row extends Freshness {
  readonly items: string;
  readonly total: number;
}

const read = async (
  { database, progress }: AgentReads,
  { principal: { customerId } }: RequestContext,
  query: {
    readonly name: string;
    readonly total: string;
    readonly rows: string;
    readonly values: readonly unknown[];
  },
): Promise<{ readonly items: readonly Agent[]; readonly total: number }> => {
  const { items, total } = await consistentRead<Row>({
    pool: boundTo(database, customerId),
    projection,
    progress,
    query: {
      name: query.name,
      text: `select ${freshnessColumns('f')}, ${query.total} as total, page.items
             from ${freshnessSql('$1', '$2')} f, lateral (
               select coalesce('[' || string_agg(p.body, ',' order by p.created_at desc, p.id desc) || ']', '[]')
                 as items
               from ${query.rows} p
             ) page`,
      values: [customerId, projection, ...query.values],
    },
  }).catch((error: unknown) => {
    if (!(error instanceof ReadModelBehindError)) throw error;
    throw unavailable('Your last change is not visible yet. Repeat the request after Retry-After.');
  });
  return { items: JSON.parse(items) as readonly Agent[], total };
};
