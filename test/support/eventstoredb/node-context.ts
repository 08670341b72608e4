import type { EventLog } from './event-log.ts';
import type { FaultQueue } from './faults.ts';
import type { GrpcStatus } from './grpc-status.ts';

export interface Member {
  readonly host: string;
  readonly port: number;
  readonly state: 'leader' | 'follower';
  readonly isAlive?: boolean;
}

/** What the handlers of one running service share. */
export interface NodeContext {
  readonly log: EventLog;
  readonly faults: FaultQueue;
  /** Of one append: data, metadata and twice the type of all its events. */
  maxAppendBytes: number;
  /** Methods of Streams that the client may use beyond the first ones, in lower case; undefined: UNIMPLEMENTED. */
  features: readonly string[] | undefined;
  members: readonly Member[];
  /** Ends each open subscription with a status, or with OK. */
  readonly subscriptions: Set<(status: GrpcStatus | undefined) => void>;
  /** Resets the connection that comes from this address. */
  reset(peer: string): void;
  /** As setTimeout, until the service is closed. */
  later(run: () => void, delayMs: number): void;
}
