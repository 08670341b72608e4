import type { EventLog, ProposedEvent } from './event-log.ts';
import type { Metadata } from '@grpc/grpc-js';
import type { FaultQueue } from './faults.ts';
import type { Replication } from './replication.ts';
import type { Standing } from './standing.ts';
import type { GrpcStatus } from './grpc-status.ts';

export interface Member {
  readonly host: string;
  readonly port: number;
  readonly state: 'leader' | 'follower' | 'unknown';
  readonly isAlive?: boolean;
}

/** What the handlers of one running service share. */
export interface NodeContext {
  /** What the node knows of the cluster's log: a deposed one knows it as it was then. */
  log: EventLog;
  /** Present in a cluster of processes: appends are written there, and acknowledged when a majority has them. */
  readonly replication: Pick<Replication, 'written' | 'whenCommitted'> | undefined;
  readonly faults: FaultQueue;
  /** Of one append: data, metadata and twice the type of all its events. */
  maxAppendBytes: number;
  /** Methods of Streams that the client may use beyond the first ones, in lower case; undefined: UNIMPLEMENTED. */
  features: readonly string[] | undefined;
  members: readonly Member[];
  /** Ends each open subscription with a status, or with OK. */
  readonly subscriptions: Set<(status: GrpcStatus | undefined) => void>;
  standing: Standing;
  /** What a deposed node has appended by itself. */
  readonly tail: ProposedEvent[];
  /** Before an append is committed, and again before it is answered; ms. */
  appendDelayMs: () => number;
  /** Before a question for the members is answered; ms. */
  gossipDelayMs: () => number;
  /** At once, or when the node is no longer frozen. */
  whenThawed(run: () => void): void;
  /** Resolves when the node hears of the others: it is neither frozen nor deposed. */
  whenInTouch(): Promise<void> | undefined;
  /**
   * Runs a call when the node is not frozen, unless the user or how the node stands refuses it.
   * @param isReadOfAll it reads `$all`, which takes a right of its own
   */
  admit(
    call: { readonly metadata: Metadata },
    run: () => void,
    refuse: (status: GrpcStatus) => void,
    isReadOfAll?: boolean,
  ): void;
  /** Resets the connection that comes from this address. */
  reset(peer: string): void;
  /** The connection is no longer there: what ended with it was cut short. */
  isGone(peer: string): boolean;
  /** As setTimeout, until the service is closed. */
  later(run: () => void, delayMs: number): void;
}
