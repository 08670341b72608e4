import { z } from 'zod';
import type { DomainEvent } from '../decision.ts';

/** AdCP's tasks that things are syndicated with. */
export const SyncTask = z.enum(['sync_audiences', 'sync_catalogs', 'sync_event_sources']);
export type SyncTask = z.infer<typeof SyncTask>;

const AgentRegistered = z.object({
  agentId: z.string(),
  customerId: z.int(),
  name: z.string(),
  url: z.string(),
  protocol: z.enum(['MCP', 'A2A']),
  /** The buyer's account at the agent; absent where the agent knows it by the advertiser's brand. */
  accountId: z.string().optional(),
  /** Where its token is kept, encrypted; absent for an agent that wants none. Never the token. */
  secretId: z.string().optional(),
  /** What it offered when it was registered; absent when it did not say. */
  supportedTasks: z.array(SyncTask).optional(),
});

/** Schema and current version of every event that an agent's stream can hold. */
export const agentEvents = {
  AgentRegistered: { schemaVersion: 1, data: AgentRegistered },
  AgentRemoved: { schemaVersion: 1, data: z.object({}) },
} as const;

type Schemas = typeof agentEvents;
export type AgentEvent = {
  [Type in keyof Schemas]: DomainEvent<Type, z.infer<Schemas[Type]['data']>>;
}[keyof Schemas];
export type AgentRegistered = z.infer<typeof AgentRegistered>;
