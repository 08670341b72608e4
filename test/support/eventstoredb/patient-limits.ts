import { callLimits, type CallLimits } from '../../../src/shared/event-store/eventstoredb/call-limits.ts';

/** As much more time for a call as a machine may need that is busy with other tests, and still less than a test has. */
const TIMES = 20;

/** For whatever is not about how long a call may take. */
export const patientLimits: CallLimits = {
  readMs: callLimits.readMs * TIMES,
  waitMs: callLimits.waitMs * TIMES,
  sendMs: callLimits.sendMs * TIMES,
  answerMs: callLimits.answerMs * TIMES,
};
