import {
  callLimits,
  longCallLimits,
  type CallLimits,
} from '../shared/event-store/eventstoredb/call-limits.ts';
import { longTimeouts, requestTimeouts, type PostgresTimeouts } from '../shared/postgres/pool.ts';

export interface StoreTimeouts {
  readonly calls: CallLimits;
  readonly postgres: PostgresTimeouts;
}

/** Short enough that a request is answered within 3 s even if a store stalls. */
export const requestStoreTimeouts: StoreTimeouts = { calls: callLimits, postgres: requestTimeouts };

/** For the operator's commands: no request waits, and a command should finish rather than stop halfway. */
export const operatorStoreTimeouts: StoreTimeouts = { calls: longCallLimits, postgres: longTimeouts };
