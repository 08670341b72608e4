export interface WakeUp {
  readonly wake: () => void;
  /** True at the next `wake`; false on abort or after `timeoutMs` (default: never). */
  next(until: {
    readonly timeoutMs?: number | undefined;
    readonly signal?: AbortSignal | undefined;
  }): Promise<boolean>;
}

export const createWakeUp = (): WakeUp => {
  const waiting = new Set<() => void>();
  return {
    wake: () => {
      for (const done of waiting) done();
    },
    next: ({ timeoutMs, signal }) =>
      new Promise((resolve) => {
        const end = (isWoken: boolean) => (): void => {
          clearTimeout(timer);
          waiting.delete(onWake);
          signal?.removeEventListener('abort', onEnd);
          resolve(isWoken);
        };
        const [onWake, onEnd] = [end(true), end(false)];
        const timer = timeoutMs === undefined ? undefined : setTimeout(onEnd, timeoutMs);
        waiting.add(onWake);
        signal?.addEventListener('abort', onEnd, { once: true });
        if (signal?.aborted === true) onEnd();
      }),
  };
};
