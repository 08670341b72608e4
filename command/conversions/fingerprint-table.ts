import type { FingerprintSet, FreshFingerprints } from '../../domain/conversions/decide-batch.ts';
import { DAYS_KNOWN } from '../../domain/conversions/fingerprint.ts';
import { createShard, findIn, placeIn, type Shard } from './fingerprint-shard.ts';
import { tableHash } from './table-hash.ts';
import { createShardDirectory } from './shard-directory.ts';

/** Fingerprints expire after `DAYS_KNOWN` + 1 days and take 23 to 45 bytes each (`shard-directory.ts`). */
export interface FingerprintTable extends FingerprintSet {
  /** Includes expired fingerprints that are not swept yet. */
  readonly count: number;
  readonly bytes: number;
  /** @param day days since the epoch; for a known fingerprint the later day is kept */
  add(words: Uint32Array, at: number, day: number, spot?: number): void;
  today(day: number): void;
  /** Frees expired slots, one shard per step. Must run every 100 days, because days are stored modulo 256. */
  sweep(): Generator<void>;
}

/** The log's clock may be ahead, so future days count as known. */
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
    has: (words, at, spot = tableHash(words, at)) => {
      const shard = directory.shardOf(spot);
      const place = findIn(shard, words, at, spot);
      return place >= 0 && isKnown(shard.days[place] as number);
    },
    add: (words, at, day, spot = tableHash(words, at)) => {
      // Already expired. Modulo 256, a day of last year would look recent.
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

/** Allocates its memory with the first fingerprint: calls without new items need none. */
export const createFreshSet = (itemsMax: number): FreshFingerprints => {
  const places = 2 ** Math.ceil(Math.log2(Math.max(16, itemsMax * 2)));
  let shard: Shard | undefined;
  return {
    has: (words, at, spot = tableHash(words, at)) =>
      shard !== undefined && findIn(shard, words, at, spot) >= 0,
    add: (words, at, spot = tableHash(words, at)) => {
      shard ??= createShard(0, places);
      const place = findIn(shard, words, at, spot);
      if (place >= 0) return false;
      placeIn(shard, -1 - place, words, at, 0);
      return true;
    },
  };
};
