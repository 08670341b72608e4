import {
  context,
  createContextKey,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
} from '@opentelemetry/api';

/**
 * Spans at the service's own seams. Nothing is patched: bundled modules cannot be. While no SDK is loaded, each function
 * here only compares one variable.
 */

export { SpanKind } from '@opentelemetry/api';

const TRACER = 'buyer-exchange';

let isOn = false;

/** Called once the SDK is registered. */
export const turnTracingOn = (): void => {
  isOn = true;
};

export interface SpanStart {
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
  /** A `traceparent` (W3C) that another process or an event brought. Default: the active span. */
  readonly parent?: string | undefined;
}

const contextOf = (traceparent: string | undefined): Context =>
  traceparent === undefined ? context.active() : propagation.extract(ROOT_CONTEXT, { traceparent });

const traceparentIn = (of: Context): string | undefined => {
  const carrier: { traceparent?: string } = {};
  propagation.inject(of, carrier);
  return carrier.traceparent;
};

/** The active span as a `traceparent`; undefined while nothing is traced. */
export const activeTraceparent = (): string | undefined =>
  isOn ? traceparentIn(context.active()) : undefined;

/** Members of log lines: a line leads to its trace. */
export const traceFields = (): { readonly traceId?: string; readonly spanId?: string } => {
  const span = isOn ? trace.getActiveSpan()?.spanContext() : undefined;
  return span === undefined ? {} : { traceId: span.traceId, spanId: span.spanId };
};

/** Runs it in a span, which ends with it. A failure marks the span; its message, which may contain personal data, stays out. */
export const traced = async <T>(
  name: string,
  { kind = SpanKind.INTERNAL, attributes = {}, parent }: SpanStart,
  run: (span: Span | undefined) => Promise<T>,
): Promise<T> => {
  if (!isOn) return run(undefined);
  const around = contextOf(parent);
  const span = trace.getTracer(TRACER).startSpan(name, { kind, attributes }, around);
  return context.with(trace.setSpan(around, span), () => endingWith([span], () => run(span)));
};

const endingWith = async <T>(spans: readonly Span[], run: () => Promise<T>): Promise<T> => {
  try {
    return await run();
  } catch (error) {
    for (const span of spans) {
      span.setAttribute('error.type', error instanceof Error ? error.name : typeof error);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    throw error;
  } finally {
    for (const span of spans) span.end();
  }
};

const ACCOUNTS = createContextKey('exchange: traces of the accounts of a batch');

export interface TracedEvent {
  readonly metadata: { readonly customerId: number; readonly traceparent?: string };
}

/** More traces of one batch get no span. */
const TRACES_OF_BATCH_MAX = 32;

/**
 * Runs it once for events of many traces: each of these traces gets a span. What it requests for an account
 * continues the trace of the account's last event in the batch (`traceparentFor`).
 */
export const tracedBatch = async <T>(
  name: string,
  attributes: Attributes,
  events: readonly TracedEvent[],
  run: () => Promise<T>,
): Promise<T> => {
  if (!isOn) return run();
  const lastOf = new Map<number, string>();
  for (const { metadata } of events) {
    if (metadata.traceparent !== undefined) lastOf.set(metadata.customerId, metadata.traceparent);
  }
  const spans: Span[] = [];
  const within = new Map<number, string>();
  for (const [customerId, parent] of [...lastOf].slice(-TRACES_OF_BATCH_MAX)) {
    const around = contextOf(parent);
    const span = trace.getTracer(TRACER).startSpan(name, { attributes }, around);
    spans.push(span);
    within.set(customerId, traceparentIn(trace.setSpan(around, span)) ?? parent);
  }
  if (spans.length === 0) return run();
  return context.with(context.active().setValue(ACCOUNTS, within), () => endingWith(spans, run));
};

/** The trace that work for this account continues. */
export const traceparentFor = (customerId: number): string | undefined => {
  if (!isOn) return undefined;
  const accounts = context.active().getValue(ACCOUNTS) as ReadonlyMap<number, string> | undefined;
  return accounts === undefined ? traceparentIn(context.active()) : accounts.get(customerId);
};

export interface RequestSpan {
  /** Spans that begin within it are its children. */
  within<T>(run: () => T): T;
  end(route: string, status: number, attributes: Attributes): void;
  readonly traceId: string;
}

/** @param traceparent that the client sent */
export const startRequestSpan = (
  method: string,
  traceparent: string | undefined,
): RequestSpan | undefined => {
  if (!isOn) return undefined;
  const around = contextOf(traceparent);
  const span = trace
    .getTracer(TRACER)
    .startSpan(method, { kind: SpanKind.SERVER, attributes: { 'http.request.method': method } }, around);
  return {
    within: (run) => context.with(trace.setSpan(around, span), run),
    end: (route, status, attributes) => {
      span.updateName(`${method} ${route}`);
      span.setAttributes({ 'http.route': route, 'http.response.status_code': status, ...attributes });
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
    traceId: span.spanContext().traceId,
  };
};
