import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server';
import { ApiError } from '../shared/http/errors.ts';
import { isFromForeignPage } from '../shared/http/own-origin.ts';

export interface AllowedCallers {
  readonly baseUrl: () => string;
  /** Further names of the service, e.g. in an internal network. */
  readonly hosts: readonly string[];
}

/**
 * A page must not reach the service under a name of its own (DNS rebinding), and pages of other origins only if the
 * account has registered them. @throws ApiError FORBIDDEN
 */
export const refuseForeignCaller = (
  { baseUrl, hosts }: AllowedCallers,
  request: IncomingMessage,
  response: ServerResponse,
): void => {
  const names = [new URL(baseUrl()).hostname, ...hosts, ...localhostAllowedHostnames()];
  const { host, origin } = request.headers;
  if (!validateHostHeader(host, names).ok) {
    throw forbidden(
      'The Host of the request is not a name of this service. Use the address of BASE_URL, or add the name to MCP_HOSTS.',
    );
  }
  if (origin === undefined || response.hasHeader('Access-Control-Allow-Origin')) return;
  const isOfThisMachine = validateOriginHeader(origin, localhostAllowedOrigins()).ok;
  if (!isOfThisMachine && isFromForeignPage(request, baseUrl())) {
    throw forbidden('Pages of this origin may not connect. Register it: POST /api/v2/buyer/browser-origins.');
  }
};

const forbidden = (message: string): ApiError => new ApiError({ code: 'FORBIDDEN', message });
