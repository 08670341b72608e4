import type { z } from 'zod';
import type { Caller, InvokedAnswer, RouteInput } from '../shared/http/invoke-route.ts';
import type { Scope } from '../shared/http/principal.ts';

/** What a tool may use while it runs. */
export interface ToolCall {
  readonly caller: Caller;
  /** Calls a route on behalf of the caller. @throws ApiError */
  readonly invoke: (operationId: string, input?: RouteInput) => Promise<InvokedAnswer>;
}

export interface ToolRun extends ToolCall {
  /** The arguments as they were sent. Bodies of routes are made of them: a route parses its body itself. */
  readonly given: Readonly<Record<string, unknown>>;
  /** Of a call that a person has confirmed through the client. */
  readonly confirmationUid?: string | undefined;
}

/** The same members in any order, so that agents see the same list at each call. */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** Members of a tool's result, as `structuredContent`. */
export type ToolResult = Readonly<Record<string, unknown>>;

export interface Tool<Input extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** For a model that has never heard of this service: what it does, when to use it, what comes back. */
  readonly description: string;
  readonly scope: Scope;
  readonly annotations: ToolAnnotations;
  readonly input: Input;
  readonly output: z.ZodObject;
  /** @throws ApiError, which becomes the result */
  run(input: z.output<Input>, call: ToolRun): Promise<ToolResult>;
}

export const tool = <Input extends z.ZodObject>(definition: Tool<Input>): Tool => definition;

export const reads: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/** Reads what others may change, or asks others. */
export const inTheOpen = (annotations: ToolAnnotations): ToolAnnotations => ({
  ...annotations,
  openWorldHint: true,
});

/** With its idempotency key, a repeat has no further effect. */
export const writes: ToolAnnotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

export const destroys: ToolAnnotations = { ...writes, destructiveHint: true };
