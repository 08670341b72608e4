import type { Registry } from 'prom-client';
import { z } from 'zod';
import { createReadiness, type Readiness, type ReadinessPart } from '../async/readiness.ts';
import { route, type Route } from './route.ts';

export interface ServiceRoutesOptions {
  readonly version: string;
  readonly parts: readonly ReadinessPart[];
  /** Undefined: only the listener for operators shows metrics. */
  readonly metrics: Registry | undefined;
  readonly stopping: () => boolean;
}

const tag = 'Service';
/** Anyone can read it: `GET /ready` of the listener for operators has the rest. */
const part = z.object({
  ready: z.boolean(),
  detail: z
    .object({
      degraded: z.boolean(),
      projections: z.array(
        z.object({
          name: z.string(),
          state: z.string(),
          lagEvents: z.int().optional(),
          lagBytes: z.int().optional(),
          parkedStreams: z.int(),
        }),
      ),
    })
    .optional(),
});
const Ready = z
  .object({ status: z.enum(['ready', 'not_ready']), parts: z.record(z.string(), part) })
  .meta({ id: 'Ready' });
const Live = z.object({ status: z.enum(['ok', 'stopping']) }).meta({ id: 'Live' });
const ServiceStatus = z.enum(['ok', 'unavailable', 'not_used']);
const Health = z
  .object({
    status: z.enum(['ok', 'stopping', 'unavailable']),
    version: z.string(),
    services: z.object({ eventStore: ServiceStatus, readModel: ServiceStatus, queue: ServiceStatus }),
  })
  .meta({ id: 'Health' });

const healthParts = { eventStore: 'eventStore', readModel: 'database', queue: 'queue' } as const;

export const PART_MS_MAX = 1_000;

/** What balancers and monitoring ask again and again. */
export const probePaths: ReadonlySet<string> = new Set(['/live', '/health', '/ready', '/metrics']);

export const serviceRoutes = (options: ServiceRoutesOptions): readonly Route[] => [
  liveRoute(options),
  healthRoute(options),
  readyRoute(options),
  ...(options.metrics === undefined ? [] : [metricsRoute(options.metrics)]),
];

/** 200 while the process can answer, even if its stores are down. */
const liveRoute = ({ stopping }: ServiceRoutesOptions): Route =>
  route({
    method: 'get',
    path: '/live',
    operationId: 'getLive',
    summary: 'Whether the process is alive; asks no store',
    tag,
    access: 'public',
    responses: { 200: { description: 'Alive', data: Live, enveloped: false } },
    handle: async () => ({ status: 200, data: { status: stopping() ? 'stopping' : 'ok' } }),
  });

/** 503 if a store that every request needs is unavailable. */
const healthRoute = ({ version, stopping, parts }: ServiceRoutesOptions): Route => {
  const names: readonly string[] = Object.values(healthParts);
  const check = createReadiness(
    parts.filter(({ name }) => names.includes(name)),
    PART_MS_MAX,
  );
  return route({
    method: 'get',
    path: '/health',
    operationId: 'getHealth',
    summary: 'Whether the service works: its event store, its read model and its job queue',
    tag,
    access: 'public',
    responses: {
      200: { description: 'The service works', data: Health, enveloped: false },
      503: { description: 'A store that every request needs is unavailable', data: Health, enveloped: false },
    },
    handle: async () => {
      const { ready, parts: statuses } = await check();
      const statusOf = (name: string): z.infer<typeof ServiceStatus> => {
        const status = statuses[name];
        if (status === undefined) return 'not_used';
        return status.ready ? 'ok' : 'unavailable';
      };
      const { eventStore, readModel, queue } = healthParts;
      const services = {
        eventStore: statusOf(eventStore),
        readModel: statusOf(readModel),
        queue: statusOf(queue),
      };
      const status = !ready ? 'unavailable' : stopping() ? 'stopping' : 'ok';
      return { status: ready ? 200 : 503, data: { status, version, services } };
    },
  });
};

const readyRoute = ({ stopping, parts }: ServiceRoutesOptions): Route => {
  const check = createReadiness(parts, PART_MS_MAX);
  return route({
    method: 'get',
    path: '/ready',
    operationId: 'getReady',
    summary: 'Whether everything that this process serves works, by part',
    tag,
    access: 'public',
    responses: {
      200: { description: 'Ready', data: Ready, enveloped: false },
      503: { description: 'Not ready', data: Ready, enveloped: false },
    },
    handle: async () => {
      const { ready, parts: statuses } = await check();
      const serving = ready && !stopping();
      return {
        status: serving ? 200 : 503,
        data: { status: serving ? 'ready' : 'not_ready', parts: publicParts(statuses) },
      };
    },
  });
};

const publicParts = (statuses: Readiness['parts']): z.infer<typeof Ready>['parts'] =>
  Object.fromEntries(
    Object.entries(statuses).map(([name, { ready, publicDetail }]) => [
      name,
      {
        ready,
        ...(publicDetail && { detail: { ...publicDetail, projections: [...publicDetail.projections] } }),
      },
    ]),
  );

const metricsRoute = (metrics: Registry): Route =>
  route({
    method: 'get',
    path: '/metrics',
    operationId: 'getMetrics',
    summary: 'Metrics in the Prometheus text format',
    tag,
    access: 'public',
    responses: { 200: { description: 'Metrics', mediaType: 'text/plain' } },
    handle: async () => ({ status: 200, text: await metrics.metrics(), contentType: metrics.contentType }),
  });
