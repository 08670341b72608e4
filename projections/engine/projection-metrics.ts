import { Counter, Gauge, type Registry } from 'prom-client';
import type { DistanceUnit } from '../../shared/event-store/event-store.ts';
import type { ProjectionStatus } from './projection-status.ts';

export interface ProjectionMetrics {
  applied(projection: string, events: number): void;
  /** Takes the metrics out of the registry. */
  remove(): void;
}

/** @param status asked at each scrape; when it fails, the gauges keep their last values */
export const registerProjectionMetrics = (
  registry: Registry,
  status: () => Promise<readonly ProjectionStatus[]>,
  lagUnit: DistanceUnit,
): ProjectionMetrics => {
  const labelNames = ['projection'] as const;
  const gauge = (name: string, help: string, value: (one: ProjectionStatus) => number): Gauge =>
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        const all = await status().catch(() => []);
        for (const one of all) this.set({ projection: one.name }, value(one));
      },
    });
  const lagName = `projection_lag_${lagUnit}`;
  gauge(
    lagName,
    `What the read model has not considered yet of the log, in ${lagUnit}`,
    (one) => one.lagEvents ?? one.lagBytes ?? 0,
  );
  gauge(
    'projection_parked_streams',
    'Streams that the read model leaves out because of an event that it cannot apply',
    (one) => one.parkedStreams,
  );
  const applied = new Counter({
    name: 'projection_events_applied_total',
    help: 'Events that this process made into rows',
    labelNames,
    registers: [registry],
  });
  return {
    applied: (projection, events) => applied.inc({ projection }, events),
    remove: () => {
      for (const name of [lagName, 'projection_parked_streams', 'projection_events_applied_total']) {
        registry.removeSingleMetric(name);
      }
    },
  };
};
