import type { CallToolResult } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { ApiError } from '../shared/http/errors.ts';
import type { Json } from '../shared/http/json-schema.ts';
import { jsonSchemaOf } from './json-schema.ts';
import type { ToolResult } from './tool.ts';

/** Larger results are described instead of repeated: a client would receive everything twice. */
const TEXT_BYTES_MAX = 25_000;

export const toolResult = (structuredContent: ToolResult): CallToolResult => {
  const json = JSON.stringify(structuredContent);
  const bytes = Buffer.byteLength(json);
  const text =
    bytes <= TEXT_BYTES_MAX
      ? json
      : `The result has ${bytes} bytes: read structuredContent. Members: ${Object.keys(structuredContent).join(', ')}.`;
  return { structuredContent: { ...structuredContent }, content: [{ type: 'text', text }] };
};

const Recovery = z.enum(['transient', 'correctable', 'terminal']);
export type Recovery = z.infer<typeof Recovery>;

/** `structuredContent` of a result with `isError`. */
const Refusal = z.object({
  code: z.string(),
  message: z.string(),
  field: z.string().optional().meta({ description: 'The argument that is wrong.' }),
  details: z.unknown().optional(),
  retry_after: z.number().optional().meta({ description: 'Seconds to wait.' }),
  recovery: Recovery.meta({
    description: 'transient: wait and repeat. correctable: correct the arguments. terminal: give up.',
  }),
});

/** Clients up to version 1 of the official one check refusals against it, too: so it also fits a refusal. */
export const outputSchemaOf = (output: z.ZodObject): Json => {
  const { properties, required = [], additionalProperties: _, ...schema } = jsonSchemaOf(output, 'output');
  const refusal = jsonSchemaOf(Refusal, 'output');
  return {
    ...schema,
    properties: { ...(refusal['properties'] as Json), ...(properties as Json) },
    anyOf: [{ required }, { required: refusal['required'] }],
  };
};

const TRANSIENT = new Set(['RATE_LIMITED', 'SERVICE_UNAVAILABLE', 'IDEMPOTENCY_IN_FLIGHT']);
const CORRECTABLE = new Set([
  'BAD_REQUEST',
  'VALIDATION_ERROR',
  'CONFLICT',
  'IDEMPOTENCY_CONFLICT',
  'CONFIRMATION_EXPIRED',
  'NOT_FOUND',
  'PAYLOAD_TOO_LARGE',
]);

/** What an agent should do: wait and repeat, correct its arguments, or give up. */
export const recoveryOf = (code: string): Recovery => {
  if (TRANSIENT.has(code)) return 'transient';
  return CORRECTABLE.has(code) ? 'correctable' : 'terminal';
};

/** Over HTTP, it is a header. */
const argumentOf = (field: string): string => (field === 'Idempotency-Key' ? 'idempotencyKey' : field);

/** A refusal is a result that the model can read, not an error of the protocol. */
export const refusalResult = ({ body, headers }: ApiError): CallToolResult => {
  const retryAfter = Number(headers['Retry-After']);
  const refusal: z.infer<typeof Refusal> = {
    code: body.code,
    message: body.message,
    ...(body.field !== undefined && { field: argumentOf(body.field) }),
    ...(body.details !== undefined && { details: body.details }),
    ...(retryAfter > 0 && { retry_after: retryAfter }),
    recovery: recoveryOf(body.code),
  };
  return {
    isError: true,
    structuredContent: refusal,
    content: [{ type: 'text', text: JSON.stringify(refusal) }],
  };
};
