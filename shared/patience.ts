import { callLimits, patientCallLimits, type CallLimits } from './event-store/eventstoredb/call-limits.ts';
import { patientTimeouts, requestTimeouts, type PostgresTimeouts } from './postgres/pool.ts';

/** How long whatever a program asks of its stores may take. */
export interface Patience {
  /** Calls to EventStoreDB, where the events are in it. */
  readonly calls: CallLimits;
  readonly postgres: PostgresTimeouts;
}

/** A request is answered within 3 s, whatever stalls. */
export const requestPatience: Patience = { calls: callLimits, postgres: requestTimeouts };

/** A command of the operator's, which no request waits for, rather takes longer than to end in its middle. */
export const operatorPatience: Patience = { calls: patientCallLimits, postgres: patientTimeouts };
