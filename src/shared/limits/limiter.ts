import type { LimitName, Limits } from './limits.ts';
import type { OpenWindow, WindowCounters } from './window-counters.ts';

/** Where a request stands in the window it was counted in. */
export interface Standing {
  readonly name: LimitName;
  /** Requests that the window allows. */
  readonly limit: number;
  /** Requests counted in it, this one included. */
  readonly count: number;
  /** Until the window closes. */
  readonly msLeft: number;
}

export const isOver = ({ count, limit }: Standing): boolean => count > limit;

export interface Limiter {
  readonly limits: Limits;
  /** Counts one request of a subject: a verified credential's name, or an address. */
  count(name: LimitName, subject: string): Promise<Standing>;
  /** Where the subject stands, without counting; undefined when it has no open window. */
  read(name: LimitName, subject: string): Promise<Standing | undefined>;
}

/** Windows known to be over their limit, at most; beyond, the counters are asked. */
const OVER_MAX = 10_000;

/**
 * Applies limits to what the counters say. A subject that is over its limit stays so until its window closes:
 * it is remembered, and whoever goes on sending costs the counters nothing. What this process counted alone is
 * not remembered: the shared counters may be back at any time, and know better.
 */
export const createLimiter = (
  limits: Limits,
  counters: Pick<WindowCounters, 'count' | 'read'>,
  nowMs: () => number = () => performance.now(),
): Limiter => {
  const over = new Map<string, { readonly count: number; readonly closesAt: number }>();

  const rememberOver = (key: string, { count, msLeft }: OpenWindow, askedAt: number): void => {
    if (over.size >= OVER_MAX)
      for (const [old, { closesAt }] of over) if (closesAt <= askedAt) over.delete(old);
    if (over.size < OVER_MAX) over.set(key, { count, closesAt: askedAt + msLeft });
  };
  const knownOver = (key: string): OpenWindow | undefined => {
    const known = over.get(key);
    if (known === undefined) return undefined;
    const msLeft = known.closesAt - nowMs();
    if (msLeft > 0) return { count: known.count, msLeft };
    over.delete(key);
    return undefined;
  };
  const standingOf = (name: LimitName, { count, msLeft }: OpenWindow): Standing => ({
    name,
    limit: limits[name].requests,
    count,
    msLeft,
  });

  return {
    limits,
    count: (name, subject) => {
      const key = `${name}:${subject}`;
      const known = knownOver(key);
      if (known !== undefined) return Promise.resolve(standingOf(name, known));
      // Before asking: the window is never remembered for longer than it is open.
      const askedAt = nowMs();
      return counters.count(key, limits[name].windowSeconds).then((window) => {
        const standing = standingOf(name, window);
        if (isOver(standing) && window.alone !== true) rememberOver(key, window, askedAt);
        return standing;
      });
    },
    read: async (name, subject) => {
      const key = `${name}:${subject}`;
      const window = knownOver(key) ?? (await counters.read(key));
      return window === undefined ? undefined : standingOf(name, window);
    },
  };
};
