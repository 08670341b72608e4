import { z } from 'zod';
import { shownIds } from '../shown-id.ts';
import { SyncTask, type AgentRegistered } from './agent-events.ts';

/** An AdCP agent that an account has registered: who audiences, event sources and catalogs are syndicated to. */
export interface Agent extends AgentRegistered {
  readonly status: 'ACTIVE' | 'REMOVED';
  readonly createdAt: string;
  readonly updatedAt: string;
}

const Timestamp = z.iso.datetime({ precision: 3 });

/** An agent as the API shows it (decisions.md section 2). Its token is never shown. */
export const AgentResource = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    url: z.string(),
    protocol: z.enum(['MCP', 'A2A']),
    status: z.enum(['ACTIVE']),
    accountId: z.string().optional(),
    supportedTasks: z.array(SyncTask).optional().meta({
      description: 'What it offered when it was registered; absent when it did not answer then.',
    }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'AdcpAgent' });

export type AgentResource = z.infer<typeof AgentResource>;

export const agentResource = (agent: Agent): AgentResource => ({
  id: shownAgentId(agent.agentId),
  name: agent.name,
  url: agent.url,
  protocol: agent.protocol,
  status: 'ACTIVE',
  ...(agent.accountId === undefined ? {} : { accountId: agent.accountId }),
  ...(agent.supportedTasks === undefined ? {} : { supportedTasks: agent.supportedTasks }),
  createdAt: agent.createdAt,
  updatedAt: agent.updatedAt,
});

const ids = shownIds('agt_');
export const shownAgentId = ids.shown;
export const agentIdOf = ids.idOf;
