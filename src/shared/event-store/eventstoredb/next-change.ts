/** For one who waits until something changes. */
export interface NextChange {
  tell(): void;
  /** Resolves at the next `tell`, on abort, after `timeoutMs`; true for a change. */
  wait(timeoutMs: number, signal: AbortSignal): Promise<boolean>;
}

export const createNextChange = (): NextChange => {
  let onChange: () => void = () => undefined;
  return {
    tell: () => onChange(),
    wait: (timeoutMs, signal) =>
      new Promise((resolve) => {
        const done = (isChange: boolean) => (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
          onChange = () => undefined;
          resolve(isChange);
        };
        const onAbort = done(false);
        const timer = setTimeout(onAbort, timeoutMs);
        onChange = done(true);
        signal.addEventListener('abort', onAbort, { once: true });
        if (signal.aborted) onAbort();
      }),
  };
};
