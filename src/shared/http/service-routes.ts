import type { Registry } from 'prom-client';
import { z } from 'zod';
import { openApiDocument } from './openapi.ts';
import { createReadiness, type CheckReadiness, type ReadinessPart } from './readiness.ts';
import { route, type Route } from './route.ts';

export interface ServiceRoutesOptions {
  readonly version: string;
  readonly baseUrl: () => string;
  readonly parts: readonly ReadinessPart[];
  readonly metrics: Registry;
  /** True from the moment the process was told to end. */
  readonly stopping: () => boolean;
}

const tag = 'Service';
const part = z.object({ ready: z.boolean(), detail: z.unknown().optional() });
const Ready = z
  .object({ status: z.enum(['ready', 'not_ready']), parts: z.record(z.string(), part) })
  .meta({ id: 'Ready' });
const Health = z
  .object({
    status: z.enum(['ok', 'stopping']),
    version: z.string(),
    services: z.record(z.string(), z.string()),
  })
  .meta({ id: 'Health' });

/** Whoever asks whether the process is alive restarts it when it does not say so within a second. */
const HEALTH_PART_MS_MAX = 250;
const READY_PART_MS_MAX = 1_000;

/** What operators and tools ask of the process itself. Public, and outside the envelope. */
export const serviceRoutes = (
  options: ServiceRoutesOptions,
  apiRoutes: readonly Route[],
): readonly Route[] => {
  const routes: readonly Route[] = [
    healthRoute(options, createReadiness(options.parts, HEALTH_PART_MS_MAX)),
    readyRoute(options, createReadiness(options.parts, READY_PART_MS_MAX)),
    metricsRoute(options),
  ];
  let document: unknown;
  const openapi = route({
    method: 'get',
    path: '/openapi.json',
    operationId: 'getOpenApi',
    summary: 'This API as an OpenAPI 3.1 document',
    tag,
    access: 'public',
    limit: 'none',
    responses: { 200: { description: 'OpenAPI 3.1', data: z.looseObject({}), enveloped: false } },
    handle: async () => {
      document ??= openApiDocument([...apiRoutes, ...routes, openapi], {
        version: options.version,
        baseUrl: options.baseUrl(),
      });
      return { status: 200, data: document };
    },
  });
  return [...routes, openapi];
};

/** Alive: 200 for as long as the process can answer at all, whatever is the matter with its stores. */
const healthRoute = ({ version, stopping }: ServiceRoutesOptions, check: CheckReadiness): Route =>
  route({
    method: 'get',
    path: '/health',
    operationId: 'getHealth',
    summary: 'Whether the process is alive',
    tag,
    access: 'public',
    limit: 'none',
    responses: { 200: { description: 'Alive', data: Health, enveloped: false } },
    handle: async () => {
      const { parts: statuses } = await check();
      const services = Object.fromEntries(
        Object.entries(statuses).map(([name, { ready }]) => [name, ready ? 'ok' : 'unavailable']),
      );
      return { status: 200, data: { status: stopping() ? 'stopping' : 'ok', version, services } };
    },
  });

/** Ready: 200 only when everything that this process serves works. */
const readyRoute = ({ stopping }: ServiceRoutesOptions, check: CheckReadiness): Route =>
  route({
    method: 'get',
    path: '/ready',
    operationId: 'getReady',
    summary: 'Whether everything that this process serves works, by part',
    tag,
    access: 'public',
    limit: 'none',
    responses: {
      200: { description: 'Ready', data: Ready, enveloped: false },
      503: { description: 'Not ready', data: Ready, enveloped: false },
    },
    handle: async () => {
      const { ready, parts: statuses } = await check();
      const serving = ready && !stopping();
      return {
        status: serving ? 200 : 503,
        data: { status: serving ? 'ready' : 'not_ready', parts: statuses },
      };
    },
  });

const metricsRoute = ({ metrics }: ServiceRoutesOptions): Route =>
  route({
    method: 'get',
    path: '/metrics',
    operationId: 'getMetrics',
    summary: 'Metrics in the Prometheus text format',
    tag,
    access: 'public',
    limit: 'none',
    responses: { 200: { description: 'Metrics', mediaType: 'text/plain' } },
    handle: async () => ({ status: 200, text: await metrics.metrics(), contentType: metrics.contentType }),
  });
