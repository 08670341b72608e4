import type { FingerprintSet, FreshFingerprints } from '../../domain/conversions/decide-batch.ts';
import { createShard, findIn, placeIn } from './fingerprint-shard.ts';
import { scatter } from './scatter.ts';
import { createShardDirectory } from './shard-directory.ts';

/**
 * A set of fingerprints that forgets: each is known for `DAYS_KNOWN` days from the day it was logged on, and a day
 * more (days are whole). 23 to 45 bytes a fingerprint, 30 on average (`shard-directory.ts`).
 */
export interface FingerprintTable extends FingerprintSet {
  /** Fingerprints, those included that are forgotten but not swept yet. */
  readonly count: number;
  readonly bytes: number;
  /** @param day days since the epoch, on which it was logged; the later one stays when it is there already */
  add(words: Uint32Array, at: number, day: number, spot?: number): void;
  /** Makes what is too old on this day unknown. A day never goes back. */
  today(day: number): void;
  /**
   * Frees the places of what is forgotten, a shard for each step of the generator. To be done within 100 days: days
   * are kept modulo 256.
   */
  sweep(): Generator<void>;
}

/** Decisions.md E14. Events older than this are refused, whether known or not. */
export const DAYS_KNOWN = 90;
/** The log has a clock of its own, which may be ahead: a day that is still to come is known as well. */
const DAYS_AHEAD = 30;

export const createFingerprintTable = (): FingerprintTable => {
  let now = 0;
  const isKnown = (day: number): boolean =>
    ((now - day) & 255) <= DAYS_KNOWN + 1 || ((day - now) & 255) <= DAYS_AHEAD;
  const directory = createShardDirectory(isKnown);

  return {
    get count() {
      return directory.count;
    },
    get bytes() {
      return directory.bytes;
    },
    has: (words, at, spot = scatter(words, at)) => {
      const shard = directory.shardOf(spot);
      const place = findIn(shard, words, at, spot);
      return place >= 0 && isKnown(shard.days[place] as number);
    },
    add: (words, at, day, spot = scatter(words, at)) => {
      // Forgotten before it is known; a year ago would seem young again, modulo 256.
      if (now - day > DAYS_KNOWN + 1) return;
      const shard = directory.shardOf(spot);
      const place = findIn(shard, words, at, spot);
      if (place < 0) return directory.put(shard, -1 - place, words, at, day, spot);
      const before = shard.days[place] as number;
      const isLater = ((day - before) & 255) < 128;
      if (isLater || !isKnown(before)) shard.days[place] = day;
    },
    today: (day) => {
      now = Math.max(now, day);
    },
    sweep: () => directory.sweep(),
  };
};

/** What one group of batches brings, until it is logged. */
export interface FreshSet extends FreshFingerprints {
  readonly count: number;
}

/** @param itemsMax how many are added at most */
export const createFreshSet = (itemsMax: number): FreshSet => {
  const places = 2 ** Math.ceil(Math.log2(Math.max(16, itemsMax * 2)));
  const shard = createShard(0, places);
  return {
    get count() {
      return shard.count;
    },
    has: (words, at, spot = scatter(words, at)) => findIn(shard, words, at, spot) >= 0,
    add: (words, at, spot = scatter(words, at)) => {
      const place = findIn(shard, words, at, spot);
      if (place >= 0) return false;
      placeIn(shard, -1 - place, words, at, 0);
      return true;
    },
  };
};
