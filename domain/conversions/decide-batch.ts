import type { Health } from './events.ts';
import { FINGERPRINT_WORDS } from './fingerprint.ts';
import type { ValidatedItems, ValidItems } from './validate-items.ts';

/** Four words at `at` are a fingerprint. `spot`: its slot in the hash tables (`table-hash.ts`), if known. */
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
 * New: not logged, not earlier in this batch, not decided in another. The first one wins.
 * @param known in the source's stream
 * @param fresh decided but not logged yet; accepted ones are added
 * @param spots slots of the items' fingerprints
 */
export const decideBatch = (
  items: ValidItems,
  known: FingerprintSet,
  fresh: FreshFingerprints,
  spots?: Uint32Array,
): BatchDecision => {
  const count = items.sent.length;
  const accepted: number[] = [];
  for (let item = 0; item < count; item += 1) {
    const at = item * FINGERPRINT_WORDS;
    const spot = spots?.[item];
    if (!known.has(items.fingerprints, at, spot) && fresh.add(items.fingerprints, at, spot))
      accepted.push(item);
  }
  return { accepted, duplicates: count - accepted.length };
};

/** Unchanged by a batch without new items and with few rejections. */
export const healthAfter = (before: Health, accepted: number, rejected: number, total: number): Health => {
  if (rejected * 2 > total) return 'needs_attention';
  return accepted > 0 ? 'receiving' : before;
};

/** Specification, Conversion-event batch result. */
export interface BatchResult {
  readonly accepted: number;
  readonly rejected: ValidatedItems['rejected'];
  readonly duplicates: number;
  readonly health: Health;
}
