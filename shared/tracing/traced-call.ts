import type { Span } from '@opentelemetry/api';
import { activeTraceparent, SpanKind, traced } from './tracing.ts';

/** A request to another server. Its path and query stay out of the span: they may hold a secret. */
export const tracedCall = <T>(
  method: string,
  host: string,
  run: (traceparent: string | undefined, span: Span | undefined) => Promise<T>,
): Promise<T> =>
  traced(
    method,
    {
      kind: SpanKind.CLIENT,
      attributes: { 'http.request.method': method, 'server.address': host },
    },
    (span) => run(activeTraceparent(), span),
  );
