import type { EventLog, ProposedEvent } from './event-log.ts';
import type { Metadata } from '@grpc/grpc-js';
import type { FaultQueue } from './faults.ts';
import type { Replication } from './replication.ts';
import type { NodeRole } from './node-role.ts';
import type { GrpcStatus } from './grpc-status.ts';

export interface Member {
  readonly host: string;
  readonly port: number;
  readonly state: 'leader' | 'follower' | 'unknown';
  readonly isAlive?: boolean;
}

/** State that the handlers of one running service share. */
export interface NodeContext {
  /** The node's view of the cluster's log. A deposed node has the state from that time. */
  log: EventLog;
  /** Only in a cluster of processes: appends go there, and are acknowledged when a majority has them. */
  readonly replication: Pick<Replication, 'written' | 'whenCommitted'> | undefined;
  readonly faults: FaultQueue;
  /** For one append: data, metadata and twice the type of all its events. */
  maxAppendBytes: number;
  /** Methods of Streams that the client may use beyond the first ones, in lower case. Undefined: UNIMPLEMENTED. */
  features: readonly string[] | undefined;
  members: readonly Member[];
  /** Ends each open subscription with a status, or with OK. */
  readonly subscriptions: Set<(status: GrpcStatus | undefined) => void>;
  nodeRole: NodeRole;
  /** Events that a deposed node has appended alone. */
  readonly tail: ProposedEvent[];
  /** Delay before an append is committed, and again before it is answered, in ms. */
  appendDelayMs: () => number;
  /** Delay before a gossip request is answered, in ms. */
  gossipDelayMs: () => number;
  /** Runs immediately, or when the node is no longer frozen. */
  whenThawed(run: () => void): void;
  /** Resolves when the node is neither frozen nor deposed, so that it receives events from the others. */
  whenInTouch(): Promise<void> | undefined;
  /**
   * Runs a call when the node is not frozen, unless the user's rights or the node's role refuse it.
   * @param isReadOfAll true for a read of `$all`, which needs a separate right
   */
  admit(
    call: { readonly metadata: Metadata },
    run: () => void,
    refuse: (status: GrpcStatus) => void,
    isReadOfAll?: boolean,
  ): void;
  /** Resets the connection from this address. */
  reset(peer: string): void;
  /** True if the connection has ended, so that its calls were incomplete. */
  isGone(peer: string): boolean;
  /** Like `setTimeout`, until the service is closed. */
  later(run: () => void, delayMs: number): void;
}
