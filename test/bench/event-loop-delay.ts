import type { MeasurementObserver } from './measure.ts';
import { runningMetrics } from './service-process.ts';

const LAG = /^nodejs_eventloop_lag_p99_seconds (\S+)/m;

/** Reading the metric resets it. */
const readDelayMs = async (metrics: () => Promise<string>): Promise<number> =>
  Number(LAG.exec(await metrics())?.[1]) * 1_000;

/** The event loop's delay in the slowest running process of the service. */
export const eventLoopDelays: MeasurementObserver = {
  begin: async () => {
    await Promise.all(runningMetrics().map(readDelayMs));
  },
  end: async () => {
    const delays = await Promise.all(runningMetrics().map(readDelayMs));
    const known = delays.filter(Number.isFinite);
    return known.length === 0 ? undefined : Math.max(...known);
  },
};
