import { z } from 'zod';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';
import type { OutboundFetch } from '../../../shared/outbound/outbound-fetch.ts';
import type { AgentCall, TakenIn } from './agent-call.ts';

/** How one call of an agent may be made. */
export interface LinkOptions {
  readonly fetch: OutboundFetch;
  /** Of the whole call. */
  readonly timeoutMs: number;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** An agent over its protocol, for the length of one call. */
export interface AgentLink {
  /**
   * Calls one of the agent's tools. What the agent answers in the protocol's way to say no is a result, too.
   * @throws what went wrong on the way: no answer, an HTTP status, an answer that cannot be read
   */
  callTool(call: ToolCall): Promise<unknown>;
  /** The tasks that the agent names; undefined when it names none of AdCP's. */
  readonly tasks: readonly string[] | undefined;
  /** Name of AdCP's `tasks/get` at this agent; undefined when it has none. */
  readonly tasksGet: string | undefined;
  /** Whose id a task's is that the agent has answered with. */
  readonly taskOf: (taskId: string) => TakenIn['taskOf'];
  /** What has become of a task of the protocol's own. */
  ownTask(taskId: string): Promise<ToolResult>;
  close(): void;
}

/** Whom a link is opened to. */
export type LinkTarget = Pick<AgentCall, 'agentUrl' | 'token' | 'takenIn'>;

export type OpenLink = (target: LinkTarget, options: LinkOptions) => Promise<AgentLink>;

export interface ToolCall {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** A task's answer as MCP has it: over every protocol the AdCP payload is the same. */
export const ToolResult = z.looseObject({
  structuredContent: z.record(z.string(), z.json()).optional(),
  isError: z.boolean().optional(),
  content: z.array(z.looseObject({ text: z.string().optional() })).optional(),
});
export type ToolResult = z.output<typeof ToolResult>;

/** Some MCP servers take no name with a slash. */
export const tasksGetIn = (tasks: readonly string[]): string | undefined =>
  ['tasks/get', 'tasks_get'].find((name) => tasks.includes(name));

/** What an agent says with an error of its protocol instead of AdCP's. */
export const refusedBy = (error: Error): ToolResult => ({
  isError: true,
  structuredContent: { adcp_error: { message: error.message } },
});
