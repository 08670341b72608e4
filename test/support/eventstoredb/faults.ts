import type { status } from '@grpc/grpc-js';

/**
 * An append counts as a call after it has arrived completely. An append that is refused for its size does not count.
 */
export const callKinds = [
  'append',
  'batch-append',
  'read-stream',
  'read-all',
  'subscribe',
  'delete',
  'tombstone',
  'features',
  'gossip',
] as const;
export type CallKind = (typeof callKinds)[number];

export type Fault =
  /** Accepted, but not executed and never answered. */
  | { readonly fault: 'mute' }
  /** Executed, but never answered. */
  | { readonly fault: 'mute-after-commit' }
  /** Executed immediately, answered `delayMs` later. */
  | { readonly fault: 'late-reply'; readonly delayMs: number }
  /** The connection is reset, and the call not executed. */
  | { readonly fault: 'reset' }
  /** Executed, then the connection is reset. */
  | { readonly fault: 'reset-after-commit' }
  /** "Operation timed out", and not executed. */
  | { readonly fault: 'timeout' }
  /** "Operation timed out", although executed. */
  | { readonly fault: 'timeout-after-commit' }
  /** UNAVAILABLE, which also ends the batch stream. */
  | { readonly fault: 'unavailable' }
  /** "Server Is Not Ready": UNAVAILABLE, but inside the answer to a batch append. */
  | { readonly fault: 'not-ready' }
  /** Names another node as the leader. */
  | { readonly fault: 'not-leader'; readonly host: string; readonly port: number }
  /** Any other gRPC status. */
  | { readonly fault: 'status'; readonly code: status; readonly details?: string | undefined };

/** The next `next` calls (default 1; null: all) of these kinds, or of any kind. */
export type Injection = Fault & {
  readonly kinds?: readonly CallKind[] | undefined;
  readonly next?: number | null | undefined;
};

/** The end of open subscriptions: status OK, CANCELLED, ABORTED (the consumer is too slow) or UNAVAILABLE. */
export type Drop = 'end' | 'cancelled' | 'too-slow' | 'unavailable';

export interface FaultQueue {
  /** Faults take effect in the order of injection, at most one for each call. */
  inject(injection: Injection): void;
  /** Removes faults that have not taken effect yet. Unanswered calls stay unanswered. */
  clear(): void;
  /** Counts a call. @returns its fault */
  take(kind: CallKind): Fault | undefined;
  /** Counts of calls by kind. */
  readonly calls: Readonly<Record<CallKind, number>>;
}

export const createFaultQueue = (): FaultQueue => {
  let pending: { injection: Injection; left: number }[] = [];
  const calls = Object.fromEntries(callKinds.map((kind) => [kind, 0])) as Record<CallKind, number>;
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
