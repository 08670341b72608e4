import { randomUUID } from 'node:crypto';
import { context, propagation, trace } from '@opentelemetry/api';
import { timeout } from '../async/timeout.ts';
import { turnTracingOn } from './tracing.ts';

export interface Tracing {
  /** Sends the last spans, if the collector takes them. */
  stop(): Promise<void>;
}

const STOP_MS_MAX = 2_000;

/**
 * Loads the SDK, which sends spans over OTLP/HTTP. It reads the other variables of OpenTelemetry by itself, e.g.
 * `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME`, `OTEL_TRACES_SAMPLER`.
 */
export const startTracing = async (version: string, roles: readonly string[]): Promise<Tracing> => {
  const [sdk, exporter, resources, hooks, core] = await Promise.all([
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/core'),
  ]);
  const own = resources.resourceFromAttributes({
    'service.name': 'buyer-exchange',
    'service.version': version,
    // Otherwise several processes would look like one.
    'service.instance.id': randomUUID(),
    'exchange.roles': roles.join(','),
  });
  const given = resources.detectResources({ detectors: [resources.envDetector] });
  const provider = new sdk.BasicTracerProvider({
    resource: resources.defaultResource().merge(own).merge(given),
    spanProcessors: [new sdk.BatchSpanProcessor(new exporter.OTLPTraceExporter())],
  });
  context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new core.W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  turnTracingOn();
  return { stop: () => timeout(STOP_MS_MAX, provider.shutdown()).catch(() => undefined) };
};
