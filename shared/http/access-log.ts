import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Histogram } from 'prom-client';
import type { Logger } from 'pino';
import type { Exchange } from './http-exchange.ts';

/** The request id is the only client text in the line: no forged lines, no leaked secrets. */
export const logWhenDone = (
  request: IncomingMessage,
  response: ServerResponse,
  exchange: Exchange,
  log: Logger,
  durations: Histogram | undefined,
): void => {
  response.once('close', () => {
    const durationMs = performance.now() - exchange.startedAt;
    const route = exchange.pattern ?? 'unknown';
    const method = request.method ?? '';
    // An answer that is complete but not ended only waits until the client stops sending (`send.ts`).
    const answered = response.writableEnded ? response.writableFinished : response.headersSent;
    const status = answered ? response.statusCode : 499;
    durations?.observe({ route, method, status: String(status) }, durationMs / 1000);
    log.info(
      {
        requestId: exchange.requestId,
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
