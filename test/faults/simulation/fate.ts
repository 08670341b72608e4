/** What befalls one call of a port. */
export type Fate =
  | { readonly kind: 'done' }
  /** The caller's process dies; the call was not sent, or it was and took effect. */
  | { readonly kind: 'crash before' | 'crash after' }
  /** The store says no before doing anything. */
  | { readonly kind: 'refused' }
  /** No answer: it took effect, it did not, or it will. */
  | { readonly kind: 'reply lost' | 'request lost' }
  | { readonly kind: 'lands late'; readonly delayMs: number }
  /** The caller stands still, before the call or with its reply in hand, while everybody else goes on. */
  | { readonly kind: 'stalls before' | 'stalls after'; readonly delayMs: number };

/**
 * A moment; past the deadline of a request (2.8 s); past the lease of a claim and the end of an idle transaction
 * (5 s); long past everything.
 */
const DELAYS_MS = [40, 3_000, 6_000, 60_000] as const;
const delayOf = (byte: number): number => DELAYS_MS[byte % DELAYS_MS.length] ?? 0;

/** Of 256 calls that a tape has something for, 32 come to grief. */
export const fateOf = (byte: number): Fate => {
  if (byte < 224) return { kind: 'done' };
  if (byte < 227) return { kind: 'crash before' };
  if (byte < 230) return { kind: 'crash after' };
  if (byte < 232) return { kind: 'refused' };
  if (byte < 236) return { kind: 'reply lost' };
  if (byte < 238) return { kind: 'request lost' };
  if (byte < 244) return { kind: 'lands late', delayMs: delayOf(byte) };
  if (byte < 252) return { kind: 'stalls before', delayMs: delayOf(byte) };
  return { kind: 'stalls after', delayMs: delayOf(byte) };
};
