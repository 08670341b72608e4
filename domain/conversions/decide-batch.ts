import type { Health } from './conversion-events.ts';
import { FINGERPRINT_WORDS } from './fingerprint.ts';
import type { ItemColumns, ValidatedItems } from './validate-items.ts';

/**
 * A set of fingerprints. Each one is the four words at `at` of an array. `spot` is its first slot in the hash tables
 * in memory (`table-hash.ts`), if computed already.
 */
export interface FingerprintSet {
  has(words: Uint32Array, at: number, spot?: number): boolean;
}

export interface FreshFingerprints extends FingerprintSet {
  /** @returns false if the set already contained it */
  add(words: Uint32Array, at: number, spot?: number): boolean;
}

export interface BatchDecision {
  readonly accepted: readonly number[];
  readonly duplicates: number;
}

/**
 * Selects the new items: not logged before, not earlier in this batch, and not in a batch that is decided but not
 * logged yet. The first one wins.
 * @param known fingerprints in the source's stream
 * @param fresh fingerprints that are decided but not logged yet; accepted ones are added
 * @param spots slots of the items' fingerprints
 */
export const decideBatch = (
  items: ItemColumns,
  known: FingerprintSet,
  fresh: FreshFingerprints,
  spots?: Uint32Array,
): BatchDecision => {
  const count = items.places.length;
  const accepted: number[] = [];
  for (let item = 0; item < count; item += 1) {
    const at = item * FINGERPRINT_WORDS;
    const spot = spots?.[item];
    if (!known.has(items.fingerprints, at, spot) && fresh.add(items.fingerprints, at, spot))
      accepted.push(item);
  }
  return { accepted, duplicates: count - accepted.length };
};

/**
 * A source's health after a batch. A batch without new items and with few rejections leaves it
 * unchanged.
 */
export const healthAfter = (before: Health, accepted: number, rejected: number, total: number): Health => {
  if (rejected * 2 > total) return 'needs_attention';
  return accepted > 0 ? 'receiving' : before;
};

/** The answer to a call (specification, Conversion-event batch result). */
export interface BatchResult {
  readonly accepted: number;
  readonly rejected: ValidatedItems['rejected'];
  readonly duplicates: number;
  readonly health: Health;
}
