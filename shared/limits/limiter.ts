import { RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible';
import type { LimitName, Limits } from './limits.ts';

export interface Standing {
  readonly limit: number;
  /** Includes this request; `limit + 1` for every count above the limit. */
  readonly count: number;
  readonly msLeft: number;
}

export const isOver = ({ count, limit }: Standing): boolean => count > limit;

export type Windows = Pick<RateLimiterAbstract, 'consume' | 'get' | 'set'>;

export interface Limiter {
  readonly limits: Limits;
  /** @param subject name of a verified credential, or an address */
  count(name: LimitName, subject: string): Promise<Standing>;
  read(name: LimitName, subject: string): Promise<Standing | undefined>;
}

export const createLimiter = (limits: Limits, windows: Readonly<Record<LimitName, Windows>>): Limiter => {
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
