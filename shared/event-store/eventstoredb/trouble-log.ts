import type { Logger } from 'pino';

/** Says once what is wrong, however often it is met. */
export interface TroubleLog {
  /** Since the last call of `tell`; undefined when nothing is wrong. */
  readonly current: string | undefined;
  /** @param cause in words; undefined when all is well again */
  tell(cause: string | undefined): void;
}

/** While a cause lasts, it is repeated this often. */
const REPEAT_MS = 60_000;

/**
 * One line when a cause begins, changes or ends, and at most one a minute of the same cause, also where it comes and
 * goes or takes turns with another.
 * @param subject what has the trouble, as lines begin with it
 */
export const createTroubleLog = (
  log: Pick<Logger, 'info' | 'warn'>,
  subject: string,
  nowMs: () => number = () => performance.now(),
): TroubleLog => {
  let current: string | undefined;
  let begunMs = 0;
  /** A line has said that it began, so that another one must say that it ended. */
  let isTold = false;
  const loggedMs = new Map<string, number>();
  const isDue = (cause: string, now: number): boolean => {
    for (const [other, ms] of loggedMs) if (now - ms >= REPEAT_MS) loggedMs.delete(other);
    if (loggedMs.has(cause)) return false;
    loggedMs.set(cause, now);
    return true;
  };
  return {
    get current() {
      return current;
    },
    tell: (cause) => {
      const now = nowMs();
      if (current === undefined) begunMs = now;
      current = cause;
      const fields = { lastedMs: Math.round(now - begunMs) };
      if (cause === undefined) {
        if (isTold) log.info(fields, `${subject} can be used again`);
        isTold = false;
      } else if (isDue(cause, now)) {
        log.warn(fields, `${subject} cannot be used: ${cause}`);
        isTold = true;
      }
    },
  };
};
