import { Pool } from 'pg';
import { pino } from 'pino';
import { Registry, type Metric } from 'prom-client';
import {
  createMetrics,
  registerAnswerMetrics,
  registerLedgerMetrics,
  registerStreamMetrics,
  requestDurations,
} from '../../app/metrics.ts';
import { createAttemptLog } from '../../command/audit/attempt-log.ts';
import { createWebhookMetrics } from '../../command/workers/webhooks/webhook-metrics.ts';
import { registerProjectionMetrics } from '../../projections/engine/projection-metrics.ts';
import { systemClock as clock } from '../../shared/async/clock.ts';
import { registerEventStoreDbMetrics } from '../../shared/event-store/eventstoredb/eventstoredb-metrics.ts';
import { generousLimits } from '../support/generous-limits.ts';
import { limitsOf, readConfig } from '../../app/config.ts';
import { createRateLimits } from '../../shared/limits/rate-limits.ts';
import { registerSealMetrics } from '../../shared/log-chain/seal-metrics.ts';
import { createJobMetrics } from '../../shared/queue/job-metrics.ts';
import { createWorkMetrics } from '../../shared/work-list/work-metrics.ts';

/** No metric is sampled, so the pool never connects. */
const UNREACHABLE = 'postgres://127.0.0.1:1/none';

interface Source {
  readonly heading: string;
  readonly about: string;
  readonly register: (registry: Registry) => unknown;
}

const sources = (pool: Pool): readonly Source[] => [
  {
    heading: 'Requests',
    about: 'In processes with the role `api`; `http_server_request_duration_seconds` in every process.',
    register: (registry) => {
      requestDurations(registry);
      registerAnswerMetrics(registry, { hits: 0, misses: 0 });
      createAttemptLog({ pool, clock, log: pino({ level: 'silent' }), registry, subjectOf: () => undefined });
    },
  },
  {
    heading: 'Realtime streams',
    about: 'In processes with the role `api`.',
    register: (registry) => registerStreamMetrics(registry, () => 0),
  },
  {
    heading: 'Rate limits',
    about: 'Where several processes count together: with `REDIS_URL`, or with `LIMIT_NODES` above 1.',
    register: (registry) =>
      createRateLimits({
        limits: limitsOf(readConfig(generousLimits)),
        nodes: 2,
        databaseUrl: UNREACHABLE,
        redisKeyPrefix: '',
        log: pino({ level: 'silent' }),
        registry,
      }),
  },
  {
    heading: 'Read models',
    about:
      'One series for each read model. The lag is in events with Postgres and in bytes with EventStoreDB, under two names.',
    register: (registry) => {
      registerProjectionMetrics(registry, async () => [], 'bytes').remove();
      const bytes = new Registry();
      registerProjectionMetrics(bytes, async () => [], 'bytes');
      const lag = bytes.getSingleMetric('exchange_projection_lag_bytes');
      registerProjectionMetrics(registry, async () => [], 'events');
      if (lag !== undefined) registry.registerMetric(lag);
    },
  },
  {
    heading: 'Hash chain of the log',
    about: 'In processes with the role `projector`, unless `LOG_SEAL_SECONDS` is 0.',
    register: registerSealMetrics,
  },
  {
    heading: 'Conversion events',
    about:
      'The index that finds repeated conversion events; its memory is bounded by `CONVERSIONS_MEMORY_MB`.',
    register: (registry) =>
      registerLedgerMetrics(registry, {
        figures: () => ({ sources: 0, bytes: 0, fingerprints: 0, evicted: 0 }),
      }),
  },
  {
    heading: 'Work and jobs',
    about: 'In processes with the role `worker`.',
    register: (registry) => {
      createWorkMetrics(registry, pool, []);
      createJobMetrics(registry, [], async () => ({}));
      createWebhookMetrics(registry, pool);
    },
  },
  {
    heading: 'EventStoreDB',
    about: 'With `EVENTSTORE_URL`.',
    register: (registry) =>
      registerEventStoreDbMetrics(registry, {
        appendsPending: 0,
        clientsReplaced: 0,
        subscriptionsLost: 0,
      }),
  },
];

/** `prom-client` declares these members as protected or not at all. */
type DescribedMetric = Metric & { readonly labelNames?: readonly string[]; readonly help: string };

export interface KnownMetric {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

export interface MetricSection {
  readonly heading: string;
  readonly about: string;
  readonly metrics: readonly KnownMetric[];
}

const metricsIn = (registry: Registry): readonly KnownMetric[] =>
  registry.getMetricsAsArray().map(({ name, help, type }) => {
    const { labelNames: labels = [] } = registry.getSingleMetric(name) as DescribedMetric;
    return { name, type: String(type), labels, help };
  });

/** Every metric of the service, as the parts of the service register them. */
export const ownMetrics = async (): Promise<readonly MetricSection[]> => {
  const pool = new Pool({ connectionString: UNREACHABLE });
  const sections = sources(pool).map(({ heading, about, register }) => {
    const registry = new Registry();
    register(registry);
    return { heading, about, metrics: metricsIn(registry) };
  });
  await pool.end();
  return sections;
};

/** Those of prom-client: the process and Node.js. */
export const nodeMetrics = (): readonly KnownMetric[] => metricsIn(createMetrics());
