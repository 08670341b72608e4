import {
  callLimits,
  longCallLimits,
  type CallLimits,
} from '../shared/event-store/eventstoredb/call-limits.ts';
import { longTimeouts, requestTimeouts, type PostgresTimeouts } from '../shared/postgres/pool.ts';

/** How long whatever a program asks of its stores may take. */
export interface StoreTimeouts {
  /** Calls to EventStoreDB, where the events are in it. */
  readonly calls: CallLimits;
  readonly postgres: PostgresTimeouts;
}

/** A request is answered within 3 s, whatever stalls. */
export const requestStoreTimeouts: StoreTimeouts = { calls: callLimits, postgres: requestTimeouts };

/** A command of the operator's, which no request waits for, rather takes longer than to end in its middle. */
export const operatorStoreTimeouts: StoreTimeouts = { calls: longCallLimits, postgres: longTimeouts };
