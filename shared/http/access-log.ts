import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Histogram } from 'prom-client';
import type { Logger } from 'pino';
import type { RequestSpan } from '../tracing/tracing.ts';
import type { Exchange } from './http-exchange.ts';
import { probePaths } from './service-routes.ts';

export type LogWhenDone = (
  request: IncomingMessage,
  response: ServerResponse,
  exchange: Exchange,
  span?: RequestSpan,
) => void;

/**
 * The request id is the only client text in the line: no forged lines, no leaked secrets. A probe's line is of level
 * `debug` unless its status has changed: balancers ask several times a second.
 */
export const createAccessLog = (log: Logger, durations: Histogram | undefined): LogWhenDone => {
  const lastOfProbe = new Map<string, number>();
  const levelOf = (route: string, status: number): 'debug' | 'info' => {
    if (!probePaths.has(route)) return 'info';
    const isSame = lastOfProbe.get(route) === status;
    lastOfProbe.set(route, status);
    return isSame ? 'debug' : 'info';
  };
  return (request, response, exchange, span) => {
    response.once('close', () => {
      const durationMs = performance.now() - exchange.startedAt;
      const route = exchange.pattern ?? 'unknown';
      const method = request.method ?? '';
      // An answer that is complete but not ended only waits until the client stops sending (`send.ts`).
      const answered = response.writableEnded ? response.writableFinished : response.headersSent;
      const status = answered ? response.statusCode : 499;
      durations?.observe(
        { http_route: route, http_request_method: method, http_response_status_code: String(status) },
        durationMs / 1000,
      );
      span?.end(route, status, {
        'exchange.request_id': exchange.requestId,
        'exchange.account': exchange.principal?.customerId ?? 0,
      });
      log[levelOf(route, status)](
        {
          requestId: exchange.requestId,
          ...(span !== undefined && { traceId: span.traceId }),
          account: exchange.principal?.customerId ?? 0,
          method,
          route,
          status,
          durationMs: Math.round(durationMs * 100) / 100,
        },
        'request',
      );
    });
  };
};
