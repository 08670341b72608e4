import type { OpenWindow, WindowCounters } from './window-counters.ts';

interface Window {
  count: number;
  /** By the clock that was given. */
  closesAt: number;
}

/** Subjects at most: about 180 bytes each. */
const SUBJECTS_MAX = 200_000;

/** Stands for all subjects that there is no room for: they share one window, so nobody goes uncounted. */
const OVERFLOW = 'overflow';

/** Expired windows are swept at most this often, ms. */
const SWEEP_MS_MIN = 1_000;

/**
 * Counters of one process, for when the shared ones are away. Own code, because the memory limiter of
 * `rate-limiter-flexible` keeps a timer for every subject and has no bound.
 * @param nowMs a monotonic clock, ms
 */
export const createMemoryCounters = (
  nowMs: () => number = () => performance.now(),
  subjectsMax = SUBJECTS_MAX,
): WindowCounters => {
  const windows = new Map<string, Window>();
  let sweptAt = -Infinity;

  const openOf = (subject: string): Window | undefined => {
    const window = windows.get(subject);
    return window === undefined || window.closesAt <= nowMs() ? undefined : window;
  };
  const sweep = (): void => {
    if (nowMs() - sweptAt < SWEEP_MS_MIN) return;
    sweptAt = nowMs();
    for (const [subject, { closesAt }] of windows) if (closesAt <= sweptAt) windows.delete(subject);
  };
  const roomFor = (subject: string): string => {
    if (windows.size < subjectsMax || windows.has(subject)) return subject;
    sweep();
    return windows.size < subjectsMax ? subject : overflowOf(subject);
  };
  const open = (subject: string, seconds: number): Window => {
    const window = { count: 0, closesAt: nowMs() + seconds * 1_000 };
    windows.set(subject, window);
    return window;
  };
  const stateOf = ({ count, closesAt }: Window): OpenWindow => ({ count, msLeft: closesAt - nowMs() });

  return {
    count: async (subject, seconds) => {
      const kept = roomFor(subject);
      const window = openOf(kept) ?? open(kept, seconds);
      window.count += 1;
      return stateOf(window);
    },
    read: async (subject) => {
      const window = openOf(subject);
      return window === undefined ? undefined : stateOf(window);
    },
    reopen: async (subject, seconds) => {
      const kept = roomFor(subject);
      if (kept === subject) open(subject, seconds).count = 1;
    },
  };
};

/** One for each kind of subject: addresses without number take no credential's place. */
const overflowOf = (subject: string): string => `${subject.slice(0, subject.indexOf(':') + 1)}${OVERFLOW}`;
