/** Rejects when `signal` aborts; the work continues, its outcome ignored. */
export const abortable = <T>(
  work: Promise<T>,
  signal: AbortSignal,
  reason = (): Error => signal.reason as Error,
): Promise<T> =>
  new Promise((resolve, reject) => {
    const onAbort = (): void => reject(reason());
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });

export const unlessAborted = async <T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> => {
  try {
    return await abortable(work, signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
};
