import { isOver, type Limiter, type Standing } from './limiter.ts';
import type { WindowCounters } from './window-counters.ts';

/** Which API keys an address may still use once too many of its credentials did not verify. */
export interface FailedCredentials {
  /**
   * Counts a credential that did not verify.
   * @returns where the address stands when its API keys are refused from now on
   */
  countFailure(address: string): Promise<Standing | undefined>;
  /**
   * Asks whether a key that did verify may be used; if so, it is known to have verified from there.
   * @returns where the address stands when its API keys are refused and this one is no exception; at once when
   *   the key is known
   */
  refusalOf(address: string, keyName: string): undefined | Promise<Standing | undefined>;
  /** Whether this process saw the key verify from there so lately that it is an exception. */
  isKnown(address: string, keyName: string): boolean;
}

/** Pairs of address and key that this process remembers; beyond, the oldest is forgotten and asked for again. */
const KNOWN_MAX = 50_000;

/** How much later than it verified again other processes may learn of it. */
const SHARE_MS = 1_000;

interface Known {
  verifiedAt: number;
  sharedAt: number;
}

/**
 * The rule of 30 failures (specification, Authentication, rule 2; decisions.md 1.4): after them an address' API
 * keys are refused until the window closes, except keys that verified from there within the last window's time.
 *
 * A key that this process saw verify lately costs nothing more. Other processes know it by a window of its own
 * that is opened anew whenever it verifies, at most once a second. Only verified keys are remembered.
 */
export const createFailedCredentials = (
  limiter: Limiter,
  counters: Pick<WindowCounters, 'read' | 'reopen'>,
  nowMs: () => number = () => performance.now(),
): FailedCredentials => {
  const seconds = limiter.limits.unverified.windowSeconds;
  const known = new Map<string, Known>();

  const remember = (pair: string, before: Known | undefined, now: number): void => {
    if (before !== undefined) {
      before.verifiedAt = now;
      if (now - before.sharedAt < SHARE_MS) return;
      before.sharedAt = now;
    } else {
      if (known.size >= KNOWN_MAX) known.delete(known.keys().next().value ?? '');
      known.set(pair, { verifiedAt: now, sharedAt: now });
    }
    // Nobody waits for it: what it is for begins with later requests.
    void counters.reopen(pair, seconds);
  };

  const isLate = (before: Known | undefined, now: number): boolean =>
    before === undefined || now - before.verifiedAt >= seconds * 1_000;

  const askShared = async (address: string, pair: string): Promise<Standing | undefined> => {
    const [failures, verified] = await Promise.all([
      limiter.read('unverified', address),
      counters.read(pair),
    ]);
    if (verified === undefined && failures !== undefined && failures.count >= failures.limit) return failures;
    remember(pair, known.get(pair), nowMs());
    return undefined;
  };

  return {
    countFailure: async (address) => {
      const standing = await limiter.count('unverified', address);
      return isOver(standing) ? standing : undefined;
    },
    refusalOf: (address, keyName) => {
      const pair = pairOf(address, keyName);
      const before = known.get(pair);
      const now = nowMs();
      if (isLate(before, now)) return askShared(address, pair);
      remember(pair, before, now);
      return undefined;
    },
    isKnown: (address, keyName) => !isLate(known.get(pairOf(address, keyName)), nowMs()),
  };
};

const pairOf = (address: string, keyName: string): string => `verified:${address} ${keyName}`;
