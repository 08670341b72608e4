import type { Fault } from './faults.ts';
import { notLeader, notReady, timedOut, unavailable, type GrpcStatus } from './grpc-status.ts';

/** The ways in which one call can end. */
export interface Reply<Result> {
  answer(result: Result): void;
  fail(status: GrpcStatus): void;
  /** Resets the connection on which the call came. */
  reset(): void;
  /** Answers to a batch append carry these two errors inside; all other calls fail with them. */
  timeOut?(): void;
  notReady?(): void;
}

/** Does what a call asks for and answers it, but for what the fault changes about it. */
export const suffer = <Result>(
  fault: Fault | undefined,
  commit: () => Result,
  reply: Reply<Result>,
  later: (run: () => void, delayMs: number) => void,
): void => {
  const timeOut = reply.timeOut ?? (() => reply.fail(timedOut));
  if (fault === undefined) return reply.answer(commit());
  switch (fault.fault) {
    case 'mute':
      return;
    case 'mute-after-commit':
      commit();
      return;
    case 'late-reply': {
      const result = commit();
      return later(() => reply.answer(result), fault.delayMs);
    }
    case 'reset':
      return reply.reset();
    case 'reset-after-commit':
      commit();
      return reply.reset();
    case 'timeout':
      return timeOut();
    case 'timeout-after-commit':
      commit();
      return timeOut();
    case 'unavailable':
      return reply.fail(unavailable);
    case 'not-ready':
      return reply.notReady === undefined ? reply.fail(notReady) : reply.notReady();
    case 'not-leader':
      return reply.fail(notLeader(fault.host, fault.port));
    case 'status':
      return reply.fail({ code: fault.code, details: fault.details ?? 'Injected.' });
  }
};
