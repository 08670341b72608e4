import { agentResource, type Agent, type AgentResource } from '../../domain/agents/resource.ts';
import { listPage, type List, type Page } from '../resources/list-page.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';

const agents: List = {
  readModel: 'agents',
  table: 'adcp_agents',
  at: 'created_at',
  listed: `status = 'ACTIVE'`,
};

interface AgentPage {
  readonly items: readonly AgentResource[];
  readonly total: number;
}

export const listAgents = async (
  reads: ResourceReads,
  customerId: number,
  page: Page,
): Promise<AgentPage> => {
  const { items, total } = await listPage(reads, agents, { customerId }, [], page);
  return { items: (JSON.parse(items) as readonly Agent[]).map(agentResource), total };
};
