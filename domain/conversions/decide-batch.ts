import type { Health } from './conversion-events.ts';
import { FINGERPRINT_WORDS } from './fingerprint.ts';
import type { ItemColumns, ValidatedItems } from './validate-items.ts';

/**
 * A set of fingerprints; each is the four words at `at` of an array. `spot` is where sets in memory begin to look for
 * it, when that is known already (`table-hash.ts`).
 */
export interface FingerprintSet {
  has(words: Uint32Array, at: number, spot?: number): boolean;
}

/** One that grows. */
export interface FreshFingerprints extends FingerprintSet {
  /** @returns false when it was there already */
  add(words: Uint32Array, at: number, spot?: number): boolean;
}

export interface BatchDecision {
  /** Which of the valid items are new, ascending. */
  readonly accepted: readonly number[];
  readonly duplicates: number;
}

/**
 * Which items are new: neither logged before nor earlier in this batch or in those decided just before it
 * (decisions.md E14: the first wins).
 * @param known everything that the source's stream holds
 * @param fresh what was decided since, not yet logged; what is accepted is added
 * @param spots of the items' fingerprints
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
 * A source's health after a batch (decisions.md E14). A batch that is neither mostly wrong nor brought anything new
 * says nothing of it.
 */
export const healthAfter = (before: Health, accepted: number, rejected: number, total: number): Health => {
  if (rejected * 2 > total) return 'needs_attention';
  return accepted > 0 ? 'receiving' : before;
};

/** What a call is told (specification, Conversion-event batch result). */
export interface BatchResult {
  readonly accepted: number;
  readonly rejected: ValidatedItems['rejected'];
  readonly duplicates: number;
  readonly health: Health;
}
