import type { TurnObserver } from './measure.ts';
import { runningPorts } from './service-process.ts';

const LAG = /^nodejs_eventloop_lag_p99_seconds (\S+)/m;

/** Reading the figure starts it anew. */
const readDelayMs = async (port: number): Promise<number> => {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  return Number(LAG.exec(await answer.text())?.[1]) * 1_000;
};

/** The event loop's delay of the worst of the service's processes that run. */
export const eventLoopDelays: TurnObserver = {
  begin: async () => {
    await Promise.all(runningPorts().map(readDelayMs));
  },
  end: async () => {
    const delays = await Promise.all(runningPorts().map(readDelayMs));
    const told = delays.filter(Number.isFinite);
    return told.length === 0 ? undefined : Math.max(...told);
  },
};
