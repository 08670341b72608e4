import type { Fault } from './faults.ts';
import { notLeader, notReady, timedOut, unavailable, type GrpcStatus } from './grpc-status.ts';

/** The possible ends of one call. */
export interface Reply<Result> {
  answer(result: Result): void;
  fail(status: GrpcStatus): void;
  /** Resets the call's connection. */
  reset(): void;
  /** Answers to a batch append contain these two errors. Other calls fail with them. */
  timeOut?(): void;
  notReady?(): void;
}

/** Executes and answers a call, as changed by its fault. */
export const executeWithFault = <Result>(
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
