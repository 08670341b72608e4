import type { Logger } from 'pino';

export interface TroubleLog {
  readonly current: string | undefined;
  /** @param cause undefined when the problem is solved */
  report(cause: string | undefined): void;
}

const REPEAT_MS = 60_000;

/** Logs the same cause at most once a minute, even if it alternates with another cause or with success. */
export const createTroubleLog = (
  log: Pick<Logger, 'info' | 'warn'>,
  subject: string,
  nowMs: () => number = () => performance.now(),
): TroubleLog => {
  let current: string | undefined;
  let begunMs = 0;
  let isLogged = false;
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
    report: (cause) => {
      const now = nowMs();
      if (current === undefined) begunMs = now;
      current = cause;
      const fields = { lastedMs: Math.round(now - begunMs) };
      if (cause === undefined) {
        if (isLogged) log.info(fields, `${subject} can be used again`);
        isLogged = false;
      } else if (isDue(cause, now)) {
        log.warn(fields, `${subject} cannot be used: ${cause}`);
        isLogged = true;
      }
    },
  };
};
