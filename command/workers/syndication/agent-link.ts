import { z } from 'zod';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';
import type { OutboundFetch } from '../../../shared/outbound/outbound-fetch.ts';
import type { AgentCall, SubmittedTask } from './agent-call.ts';

export interface LinkOptions {
  readonly fetch: OutboundFetch;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface AgentLink {
  /** A refusal in the protocol's form is a result. @throws transport errors, e.g. an HTTP status */
  callTool(call: ToolCall): Promise<unknown>;
  /** The agent's tasks; undefined when it lists none of AdCP's. */
  readonly tasks: readonly string[] | undefined;
  /** Undefined when the agent does not support AdCP's `tasks/get`. */
  readonly tasksGet: string | undefined;
  readonly taskOf: (taskId: string) => SubmittedTask['taskOf'];
  ownTask(taskId: string): Promise<ToolResult>;
  close(): void;
}

export type LinkTarget = Pick<AgentCall, 'agentUrl' | 'token' | 'submittedTask'>;

export type OpenLink = (target: LinkTarget, options: LinkOptions) => Promise<AgentLink>;

export interface ToolCall {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** The AdCP payload is the same over every protocol. */
export const ToolResult = z.looseObject({
  structuredContent: z.record(z.string(), z.json()).optional(),
  isError: z.boolean().optional(),
  content: z.array(z.looseObject({ text: z.string().optional() })).optional(),
});
export type ToolResult = z.output<typeof ToolResult>;

/** Some MCP servers allow no slash in names. */
export const tasksGetIn = (tasks: readonly string[]): string | undefined =>
  ['tasks/get', 'tasks_get'].find((name) => tasks.includes(name));

export const refusedBy = (error: Error): ToolResult => ({
  isError: true,
  structuredContent: { adcp_error: { message: error.message } },
});
