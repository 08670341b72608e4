import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { AgentRegistered, agentFields, AgentUnreachable } from './resource.ts';

/** An unreachable agent answered; refusing the credentials counts as an answer. */
const AgentAnswered = z.object({
  supportedTasks: agentFields.supportedTasks.recorded.optional(),
});

export const agentEvents = {
  AgentRegistered: { schemaVersion: 1, data: AgentRegistered },
  AgentUnreachable: { schemaVersion: 1, data: AgentUnreachable },
  AgentAnswered: { schemaVersion: 1, data: AgentAnswered },
  AgentRemoved: { schemaVersion: 1, data: z.object({}) },
} as const;

export type AgentEvent = EventsOf<typeof agentEvents>;
