/** How far the log is known to reach, and who waits for more. One for all subscriptions of a store. */
export interface LogTail {
  /** The highest position heard of so far; the log may be further. */
  readonly known: number;
  /** Something says that the log reaches `position`. */
  advance(position: number): void;
  /** Something may have been missed: everyone should look. */
  wake(): void;
  /** Resolves when the log is known to reach beyond `position`, on `wake`, on abort, after `timeoutMs`. */
  beyond(position: number, timeoutMs: number, signal: AbortSignal): Promise<void>;
}

export const createLogTail = (): LogTail => {
  const waiting = new Set<() => void>();
  let known = 0;
  const wake = (): void => {
    for (const done of waiting) done();
  };
  return {
    get known() {
      return known;
    },
    wake,
    advance: (position) => {
      if (position <= known) return;
      known = position;
      wake();
    },
    beyond: (position, timeoutMs, signal) =>
      new Promise((resolve) => {
        if (known > position || signal.aborted) return resolve();
        const done = (): void => {
          clearTimeout(timer);
          waiting.delete(done);
          signal.removeEventListener('abort', done);
          resolve();
        };
        const timer = setTimeout(done, timeoutMs);
        waiting.add(done);
        signal.addEventListener('abort', done, { once: true });
      }),
  };
};
