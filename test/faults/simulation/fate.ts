/** The outcome of one port call. */
export type Fate =
  | { readonly kind: 'done' }
  /** The caller's process dies before the call was sent or after it took effect. */
  | { readonly kind: 'crash before' | 'crash after' }
  /** The store refuses without an effect. */
  | { readonly kind: 'refused' }
  /** No reply: the call took effect, did not, or will later. */
  | { readonly kind: 'reply lost' | 'request lost' }
  | { readonly kind: 'lands late'; readonly delayMs: number }
  /** The caller stalls before the call or before it sees the reply, while all others continue. */
  | { readonly kind: 'stalls before' | 'stalls after'; readonly delayMs: number };

/**
 * Short; past a request's deadline (2.8 s); past a claim's lease and an idle transaction's timeout (5 s); past every
 * timeout.
 */
const DELAYS_MS = [40, 3_000, 6_000, 60_000] as const;
const delayOf = (byte: number): number => DELAYS_MS[byte % DELAYS_MS.length] ?? 0;

/** Of 256 values, 32 lead to a fault. */
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
