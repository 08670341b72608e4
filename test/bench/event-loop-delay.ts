import type { MeasurementObserver } from './measure.ts';
import { runningPorts } from './service-process.ts';

const LAG = /^nodejs_eventloop_lag_p99_seconds (\S+)/m;

/** Reading the metric resets it. */
const readDelayMs = async (port: number): Promise<number> => {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  return Number(LAG.exec(await answer.text())?.[1]) * 1_000;
};

/** The event loop's delay in the slowest running process of the service. */
export const eventLoopDelays: MeasurementObserver = {
  begin: async () => {
    await Promise.all(runningPorts().map(readDelayMs));
  },
  end: async () => {
    const delays = await Promise.all(runningPorts().map(readDelayMs));
    const known = delays.filter(Number.isFinite);
    return known.length === 0 ? undefined : Math.max(...known);
  },
};
