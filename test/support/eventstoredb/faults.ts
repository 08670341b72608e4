import type { status } from '@grpc/grpc-js';

/** A batch append is a call when its last chunk has come. */
export type CallKind =
  | 'append'
  | 'batch-append'
  | 'read-stream'
  | 'read-all'
  | 'subscribe'
  | 'delete'
  | 'tombstone'
  | 'features'
  | 'gossip';

export type Fault =
  /** Accepted, nothing done, never answered. */
  | { readonly fault: 'mute' }
  /** Done and never answered. */
  | { readonly fault: 'mute-after-commit' }
  /** Done at once, answered `delayMs` later. */
  | { readonly fault: 'late-reply'; readonly delayMs: number }
  /** The connection is reset and nothing done. */
  | { readonly fault: 'reset' }
  /** Done, then the connection is reset. */
  | { readonly fault: 'reset-after-commit' }
  /** "Operation timed out" and nothing done. */
  | { readonly fault: 'timeout' }
  /** "Operation timed out" although it was done. */
  | { readonly fault: 'timeout-after-commit' }
  /** UNAVAILABLE; the stream of batches ends with it. */
  | { readonly fault: 'unavailable' }
  /** "Server Is Not Ready": UNAVAILABLE, but inside the answer to a batch append. */
  | { readonly fault: 'not-ready' }
  /** A node that names another one as the leader. */
  | { readonly fault: 'not-leader'; readonly host: string; readonly port: number }
  /** Any other gRPC status. */
  | { readonly fault: 'status'; readonly code: status; readonly details?: string | undefined };

/** The next `next` calls (1 if absent, for ever if null) of these kinds, or of any kind. */
export type Injection = Fault & {
  readonly kinds?: readonly CallKind[] | undefined;
  readonly next?: number | null | undefined;
};

/**
 * How open subscriptions end: with status OK, or with CANCELLED, ABORTED (the consumer is too slow) or UNAVAILABLE.
 */
export type Drop = 'end' | 'cancelled' | 'too-slow' | 'unavailable';

export interface FaultQueue {
  /** Faults take effect in the order in which they were injected; a call suffers from one at most. */
  inject(injection: Injection): void;
  /** Forgets what has not yet taken effect. Calls that were muted stay so. */
  clear(): void;
  /** Counts a call. @returns what it has to suffer from */
  take(kind: CallKind): Fault | undefined;
  /** Calls so far, by kind. */
  readonly calls: Readonly<Record<CallKind, number>>;
}

export const createFaultQueue = (): FaultQueue => {
  let pending: { injection: Injection; left: number }[] = [];
  const calls: Record<CallKind, number> = {
    append: 0,
    'batch-append': 0,
    'read-stream': 0,
    'read-all': 0,
    subscribe: 0,
    delete: 0,
    tombstone: 0,
    features: 0,
    gossip: 0,
  };
  return {
    inject: (injection) => {
      pending.push({
        injection,
        left: injection.next === null ? Number.POSITIVE_INFINITY : (injection.next ?? 1),
      });
    },
    clear: () => {
      pending = [];
    },
    take: (kind) => {
      calls[kind] += 1;
      const due = pending.find(
        ({ injection: { kinds }, left }) => left > 0 && (kinds === undefined || kinds.includes(kind)),
      );
      if (due === undefined) return undefined;
      due.left -= 1;
      pending = pending.filter(({ left }) => left > 0);
      return due.injection;
    },
    calls,
  };
};
