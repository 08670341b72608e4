import { createAnswerInTime } from './answer-in-time.ts';
import type { OpenWindow, WindowCounters } from './window-counters.ts';

/** A request asks the shared counters at most twice, one after the other: 200 ms are promised. */
const WAIT_MS_MAX = 100;

/** Once they failed, one request in this time tries them again; the others do not wait. */
const TRY_AGAIN_MS = 1_000;

export interface FallbackOptions {
  readonly shared: WindowCounters;
  /** Of this process alone. */
  readonly own: WindowCounters;
  /** Processes that serve clients: what one of them counts by itself, all of them may have counted. */
  readonly nodes: number;
  /** Told of every use of `own`, with what was wrong with `shared` when it was asked. */
  readonly onFallback: (error: unknown) => void;
}

export interface CountersWithFallback extends WindowCounters {
  /**
   * Asks the shared counters now, whatever became of them before, and goes by what they say.
   * @returns whether they count: true, and the next request is counted there
   */
  probe(): Promise<boolean>;
}

/**
 * Counts in `own` for as long as `shared` is away or stalled: what must be limited stays limited,
 * by each process for itself. Own code, because the `insuranceLimiter` of `rate-limiter-flexible` tells nobody
 * that it stepped in, has no deadline and asks the failing store for every request.
 */
export const withFallback = (options: FallbackOptions): CountersWithFallback => {
  const { shared, own, nodes, onFallback } = options;
  const ofAllNodes = asCountedByAll(own, nodes);
  const inTime = createAnswerInTime(WAIT_MS_MAX);
  let failing: unknown;
  let tryAgainAt = 0;

  const first = <T>(ask: (counters: WindowCounters) => Promise<T>): Promise<T> => {
    if (failing !== undefined) {
      if (performance.now() < tryAgainAt) return instead(ask);
      tryAgainAt = performance.now() + TRY_AGAIN_MS;
    }
    return askShared(ask, () => instead(ask));
  };
  const askShared = <T>(
    ask: (counters: WindowCounters) => Promise<T>,
    otherwise: () => T | Promise<T>,
  ): Promise<T> =>
    new Promise((resolve) => {
      inTime(
        ask(shared),
        (answer) => {
          failing = undefined;
          resolve(answer);
        },
        (error) => {
          failing = error;
          tryAgainAt = performance.now() + TRY_AGAIN_MS;
          resolve(otherwise());
        },
      );
    });
  const instead = <T>(ask: (counters: WindowCounters) => Promise<T>): Promise<T> => {
    onFallback(failing);
    return ask(ofAllNodes);
  };

  return {
    count: (subject, seconds) => first((counters) => counters.count(subject, seconds)),
    read: (subject) => first((counters) => counters.read(subject)),
    reopen: (subject, seconds) => first((counters) => counters.reopen(subject, seconds)),
    probe: () =>
      askShared(
        (counters) => counters.read('readiness').then(() => true),
        () => false,
      ),
  };
};

/** A first request passes however many nodes there are; with limit L, the next ones up to L / nodes do. */
const asCountedByAll = (own: WindowCounters, nodes: number): WindowCounters => {
  const scaled = ({ count, msLeft }: OpenWindow): OpenWindow => ({
    count: (count - 1) * nodes + 1,
    msLeft,
    alone: true,
  });
  return {
    count: async (subject, seconds) => scaled(await own.count(subject, seconds)),
    read: async (subject) => {
      const window = await own.read(subject);
      return window === undefined ? undefined : scaled(window);
    },
    reopen: (subject, seconds) => own.reopen(subject, seconds),
  };
};
