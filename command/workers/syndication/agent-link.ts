import { z } from 'zod';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';
import type { OutboundFetch } from '../../../shared/outbound/outbound-fetch.ts';
import type { AgentCall, TakenIn } from './agent-call.ts';

export interface LinkOptions {
  readonly fetch: OutboundFetch;
  /** For the whole call. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** A connection to an agent over its protocol, for one call. */
export interface AgentLink {
  /**
   * Calls a tool. A refusal in the protocol's form is a result.
   * @throws transport errors: no answer, an HTTP status, an unreadable answer
   */
  callTool(call: ToolCall): Promise<unknown>;
  /** The agent's tasks; undefined when it lists none of AdCP's. */
  readonly tasks: readonly string[] | undefined;
  /** The agent's name for AdCP's `tasks/get`; undefined when it does not support it. */
  readonly tasksGet: string | undefined;
  /** Tells whether a task id belongs to A2A or AdCP. */
  readonly taskOf: (taskId: string) => TakenIn['taskOf'];
  /** Polls a task of the protocol. */
  ownTask(taskId: string): Promise<ToolResult>;
  close(): void;
}

export type LinkTarget = Pick<AgentCall, 'agentUrl' | 'token' | 'takenIn'>;

export type OpenLink = (target: LinkTarget, options: LinkOptions) => Promise<AgentLink>;

export interface ToolCall {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** A task's answer in MCP's form; the AdCP payload is the same over every protocol. */
export const ToolResult = z.looseObject({
  structuredContent: z.record(z.string(), z.json()).optional(),
  isError: z.boolean().optional(),
  content: z.array(z.looseObject({ text: z.string().optional() })).optional(),
});
export type ToolResult = z.output<typeof ToolResult>;

/** Some MCP servers allow no slash in names. */
export const tasksGetIn = (tasks: readonly string[]): string | undefined =>
  ['tasks/get', 'tasks_get'].find((name) => tasks.includes(name));

/** Converts an error of the protocol into one of AdCP. */
export const refusedBy = (error: Error): ToolResult => ({
  isError: true,
  structuredContent: { adcp_error: { message: error.message } },
});
