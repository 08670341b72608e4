import { RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible';
import type { LimitName, Limits } from './limits.ts';

/** Where a request stands in the window it was counted in. */
export interface Standing {
  /** Requests that the window allows. */
  readonly limit: number;
  /** Requests counted in it, this one included; `limit + 1` stands for all above the limit. */
  readonly count: number;
  /** Until the window closes. */
  readonly msLeft: number;
}

export const isOver = ({ count, limit }: Standing): boolean => count > limit;

/** The part of a limiter of `rate-limiter-flexible` that is used here. */
export type Windows = Pick<RateLimiterAbstract, 'consume' | 'get' | 'set'>;

export interface Limiter {
  readonly limits: Limits;
  /** Counts one request of a subject: a verified credential's name, or an address. */
  count(name: LimitName, subject: string): Promise<Standing>;
  /** Where the subject stands, without counting; undefined when it has no open window. */
  read(name: LimitName, subject: string): Promise<Standing | undefined>;
}

/** Applies limits to what their windows say. */
export const createLimiter = (limits: Limits, windows: Readonly<Record<LimitName, Windows>>): Limiter => {
  /** By what remains: a limiter that counts for one of several processes allows its part only. */
  const standingOf = (name: LimitName, { remainingPoints, msBeforeNext }: RateLimiterRes): Standing => {
    const limit = limits[name].requests;
    return { limit, count: limit - remainingPoints, msLeft: msBeforeNext };
  };
  return {
    limits,
    count: (name, subject) =>
      windows[name].consume(subject).then(
        (window) => standingOf(name, window),
        (refusal: unknown) => {
          if (!(refusal instanceof RateLimiterRes)) throw refusal;
          const limit = limits[name].requests;
          return { limit, count: limit + 1, msLeft: refusal.msBeforeNext };
        },
      ),
    read: async (name, subject) => {
      const window = await windows[name].get(subject);
      return window === null || window.msBeforeNext <= 0 ? undefined : standingOf(name, window);
    },
  };
};
