import { agentEvents } from '../domain/agents/agent-events.ts';
import type { Agent } from '../domain/agents/agent-resource.ts';
import { AGENT, evolve, initialState, type AgentState } from '../domain/agents/agent.ts';
import type { Projection } from './engine/projection.ts';
import { applyFolded, type FoldedTable } from './folded-rows.ts';

const table: FoldedTable<AgentState, Agent> = {
  table: 'adcp_agents',
  category: AGENT,
  events: agentEvents,
  initialState,
  evolve,
  live: (state) => (state.status === 'NONE' ? undefined : state),
  place: ({ customerId, agentId }) => ({ customerId, id: agentId }),
  columns: [
    { name: 'status', type: 'text', value: ({ status }) => status },
    { name: 'created_at', type: 'timestamptz', value: ({ createdAt }) => createdAt, isFixed: true },
  ],
};

/** The read model behind an account's agents. */
export const agentsProjection: Projection = {
  name: 'agents',
  categories: [AGENT],
  tables: [table.table],
  apply: async (client, events) => void (await applyFolded(client, table, events)),
};
