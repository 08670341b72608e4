import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { AgentRegistered, agentFields, AgentUnreachable } from './agent-resource.ts';

/** An agent that was unreachable has answered, if only that it does not accept the credentials. */
const AgentAnswered = z.object({
  /** What it offers; absent when it does not say. */
  supportedTasks: agentFields.supportedTasks.recorded.optional(),
});

/** Schema and current version of every event that an agent's stream can hold. */
export const agentEvents = {
  AgentRegistered: { schemaVersion: 1, data: AgentRegistered },
  AgentUnreachable: { schemaVersion: 1, data: AgentUnreachable },
  AgentAnswered: { schemaVersion: 1, data: AgentAnswered },
  AgentRemoved: { schemaVersion: 1, data: z.object({}) },
} as const;

export type AgentEvent = EventsOf<typeof agentEvents>;
