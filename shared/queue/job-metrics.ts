import { Counter, Gauge, type Registry } from 'prom-client';

const outcomes = ['completed', 'retried', 'failed', 'stalled'] as const;
export type JobOutcome = (typeof outcomes)[number];

export interface JobMetrics {
  ended(queue: string, outcome: JobOutcome): void;
}

export const createJobMetrics = (
  registry: Registry,
  queues: readonly string[],
  waiting: () => Promise<Readonly<Record<string, number>>>,
): JobMetrics => {
  const jobs = new Counter({
    name: 'exchange_jobs_total',
    help: 'Runs of jobs by how they ended: stalled ones were taken from a worker that was gone',
    labelNames: ['queue', 'outcome'],
    registers: [registry],
  });
  // Prometheus sees no increase in a series that begins with 1: an alert would miss the first job that fails.
  for (const queue of queues) for (const outcome of outcomes) jobs.inc({ queue, outcome }, 0);
  const gauge = new Gauge({
    name: 'exchange_jobs_waiting',
    help: 'Jobs that wait for their turn',
    labelNames: ['queue'],
    registers: [registry],
    collect: async () => {
      gauge.reset();
      for (const [queue, count] of Object.entries(await waiting())) gauge.set({ queue }, count);
    },
  });
  return { ended: (queue, outcome) => jobs.inc({ queue, outcome }) };
};
