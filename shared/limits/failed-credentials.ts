import { LRUCache } from 'lru-cache';
import { systemClock } from '../async/clock.ts';
import { isOver, type Limiter, type Standing, type Windows } from './limiter.ts';

export interface FailedCredentials {
  /** @returns the count if the address' API keys are refused from now on */
  countFailure(address: string): Promise<Standing | undefined>;
  /** Remembers a key that may be used. @returns the count if the key is refused */
  refusalOf(address: string, keyName: string): undefined | Promise<Standing | undefined>;
  isKnown(address: string, keyName: string): boolean;
}

const KNOWN_MAX = 50_000;

const SHARE_MS = 1_000;

/**
 * After 30 failures (specification, Authentication, rule 2) an address' API keys are refused until the window
 * closes, except keys that verified from there within the last window's time. Processes share verified keys
 * through a window in `verified`; a key that this process remembers costs no query.
 */
export const createFailedCredentials = (
  limiter: Limiter,
  verified: Pick<Windows, 'get' | 'set'>,
): FailedCredentials => {
  const seconds = limiter.limits.unverified.windowSeconds;
  const known = new LRUCache<string, number>({
    max: KNOWN_MAX,
    ttl: seconds * 1_000,
    ttlResolution: 0,
    perf: Date,
  });

  const remember = (pair: string): void => {
    const now = systemClock.now();
    const sharedAt = known.get(pair);
    const isShared = sharedAt !== undefined && now - sharedAt < SHARE_MS;
    known.set(pair, isShared ? sharedAt : now);
    // Not awaited: only later requests use it.
    if (!isShared) void verified.set(pair, 1, seconds);
  };

  const askShared = async (address: string, pair: string): Promise<Standing | undefined> => {
    const [failures, window] = await Promise.all([limiter.read('unverified', address), verified.get(pair)]);
    const isVerified = window !== null && window.msBeforeNext > 0;
    if (!isVerified && failures !== undefined && failures.count >= failures.limit) return failures;
    remember(pair);
    return undefined;
  };

  return {
    countFailure: async (address) => {
      const standing = await limiter.count('unverified', address);
      return isOver(standing) ? standing : undefined;
    },
    refusalOf: (address, keyName) => {
      const pair = pairOf(address, keyName);
      if (!known.has(pair)) return askShared(address, pair);
      remember(pair);
      return undefined;
    },
    isKnown: (address, keyName) => known.has(pairOf(address, keyName)),
  };
};

const pairOf = (address: string, keyName: string): string => `${address} ${keyName}`;
