import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ApiError, ErrorCode } from '../../shared/http/errors.ts';
import { recoveryOf, type Recovery } from '../result.ts';

/** AdCP, core/error.json. */
interface AdcpError {
  readonly code: string;
  readonly message: string;
  readonly recovery: Recovery;
  readonly field?: string;
  readonly details?: unknown;
  /** Seconds. */
  readonly retry_after?: number;
}

/** With a code of AdCP that the API has not. */
export class AdcpRefusal extends Error {
  override readonly name = 'AdcpRefusal';
  readonly error: AdcpError;

  constructor(error: AdcpError) {
    super(error.message);
    this.error = error;
  }
}

export const unsupported = (message: string, field: string): AdcpRefusal =>
  new AdcpRefusal({ code: 'UNSUPPORTED_FEATURE', message, field, recovery: 'correctable' });

export const invalidRequest = (message: string, field: string, details?: unknown): AdcpRefusal =>
  new AdcpRefusal({
    code: 'INVALID_REQUEST',
    message,
    field,
    recovery: 'correctable',
    ...(details !== undefined && { details }),
  });

/** AdCP, enums/error-code.json. Other codes are the same there. */
const codes: Partial<Record<ErrorCode, string>> = {
  BAD_REQUEST: 'INVALID_REQUEST',
  NOT_FOUND: 'REFERENCE_NOT_FOUND',
  FORBIDDEN: 'PERMISSION_DENIED',
};

export const adcpErrorOf = ({ body, headers }: ApiError): AdcpError => {
  const retryAfter = Number(headers['Retry-After']);
  return {
    code: codes[body.code] ?? body.code,
    message: body.message,
    recovery: recoveryOf(body.code),
    ...(body.field !== undefined && { field: body.field }),
    ...(retryAfter > 0 && { retry_after: retryAfter }),
  };
};

/** AdCP, error handling over MCP: the error is in both forms of the result. @param context is sent back as it came */
export const refused = (error: AdcpError, context: object | undefined): CallToolResult => {
  const structuredContent = { status: 'failed', adcp_error: error, ...(context && { context }) };
  return {
    isError: true,
    structuredContent,
    content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
  };
};
