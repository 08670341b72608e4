import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Ledgers } from '../command/conversions/ledgers.ts';
import type { AnswerCache } from '../shared/http/answer-cache.ts';

export const createMetrics = (): Registry => {
  const metrics = new Registry();
  collectDefaultMetrics({ register: metrics });
  return metrics;
};

export const requestDurations = (registry: Registry): Histogram =>
  new Histogram({
    // Name and labels of OpenTelemetry's conventions for HTTP servers: dashboards of others fit.
    name: 'http_server_request_duration_seconds',
    help: 'Time from the request to the end of its answer',
    labelNames: ['http_route', 'http_request_method', 'http_response_status_code'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  });

export const registerStreamMetrics = (registry: Registry, open: () => number): void => {
  const gauge: Gauge = new Gauge({
    name: 'exchange_realtime_streams',
    help: 'Open realtime streams of this process',
    registers: [registry],
    collect: () => gauge.set(open()),
  });
};

export const registerAnswerMetrics = (
  registry: Registry,
  answers: Pick<AnswerCache, 'hits' | 'misses'>,
): void => {
  const counter: Counter = new Counter({
    name: 'exchange_read_answers_total',
    help: 'Answers of reads, by whether they were ready in memory',
    labelNames: ['from'],
    registers: [registry],
    collect: () => {
      counter.reset();
      counter.inc({ from: 'memory' }, answers.hits);
      counter.inc({ from: 'read_model' }, answers.misses);
    },
  });
};

export const registerLedgerMetrics = (registry: Registry, ledgers: Pick<Ledgers, 'figures'>): void => {
  const help = {
    sources: 'Event sources whose conversion events this process has in memory',
    bytes: 'Memory of these event sources, in bytes',
    fingerprints: 'Conversion events in memory',
  };
  for (const figure of Object.keys(help) as (keyof typeof help)[]) {
    const gauge: Gauge = new Gauge({
      name: `exchange_conversions_index_${figure}`,
      help: help[figure],
      registers: [registry],
      collect: () => gauge.set(ledgers.figures()[figure]),
    });
  }
  const evicted: Counter = new Counter({
    name: 'exchange_conversions_index_evicted_total',
    help: 'Event sources evicted from memory',
    registers: [registry],
    collect: () => {
      evicted.reset();
      evicted.inc(ledgers.figures().evicted);
    },
  });
};
