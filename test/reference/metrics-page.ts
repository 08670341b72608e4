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
import { GENERATED, pageOf, tableOf } from './markdown.ts';

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
    about: 'In processes with the role `api`; `http_request_duration_seconds` in every process.',
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
      const lag = bytes.getSingleMetric('projection_lag_bytes');
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
      createJobMetrics(registry, async () => ({}));
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

const metricsIn = (registry: Registry): readonly (readonly string[])[] =>
  registry.getMetricsAsArray().map(({ name, help, type }) => {
    const { labelNames = [] } = registry.getSingleMetric(name) as DescribedMetric;
    return [`\`${name}\``, String(type), labelNames.map((label) => `\`${label}\``).join(', '), help];
  });

export const metricsPage = async (): Promise<string> => {
  const pool = new Pool({ connectionString: UNREACHABLE });
  const sections = sources(pool).flatMap(({ heading, about, register }) => {
    const registry = new Registry();
    register(registry);
    return [`## ${heading}`, about, tableOf(['metric', 'type', 'labels', 'meaning'], metricsIn(registry))];
  });
  const node = createMetrics();
  await pool.end();
  return pageOf(
    '# Metrics',
    `Every metric that \`GET /metrics\` shows, in the Prometheus text format. ${GENERATED}`,
    'The endpoint needs no credential: keep it away from public networks ([operate](../operate/README.md)). Names that end ' +
      'in `_total` count from the start of the process.',
    ...sections,
    '## Node.js',
    `Standard metrics of prom-client: ${node
      .getMetricsAsArray()
      .map(({ name }) => `\`${name}\``)
      .join(', ')}.`,
  );
};
