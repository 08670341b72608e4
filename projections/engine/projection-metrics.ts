import { Counter, Gauge, type Registry } from 'prom-client';
import type { DistanceUnit } from '../../shared/event-store/event-store.ts';
import type { ProjectionStatus } from './projection-status.ts';

export interface ProjectionMetrics {
  applied(projection: string, events: number): void;
  remove(): void;
}

/** @param status after a failure the gauges keep their values */
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
  const lagName = `exchange_projection_lag_${lagUnit}`;
  gauge(
    lagName,
    `Lag of the read model behind the end of the log, in ${lagUnit}`,
    (one) => one.lagEvents ?? one.lagBytes ?? 0,
  );
  gauge(
    'exchange_projection_parked_streams',
    'Streams that are parked because of an event that the read model cannot apply',
    (one) => one.parkedStreams,
  );
  const applied = new Counter({
    name: 'exchange_projection_events_applied_total',
    help: 'Events that this process applied to the read model',
    labelNames,
    registers: [registry],
  });
  return {
    applied: (projection, events) => applied.inc({ projection }, events),
    remove: () => {
      for (const name of [
        lagName,
        'exchange_projection_parked_streams',
        'exchange_projection_events_applied_total',
      ]) {
        registry.removeSingleMetric(name);
      }
    },
  };
};
