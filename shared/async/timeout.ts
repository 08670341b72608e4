export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** Waits at most `ms`. Late work continues, and its outcome is ignored. @throws `late()` */
export const timeout = <T>(
  ms: number,
  work: Promise<T>,
  late = (): Error => new TimeoutError(`no answer within ${Math.round(ms)} ms`),
): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });

/** Waits until `work` has succeeded or failed, at most `ms`. */
export const settled = (ms: number, work: Promise<unknown>): Promise<void> =>
  timeout(ms, work).then(
    () => undefined,
    () => undefined,
  );

/**
 * Node 20 garbage-collects a signal that only `AbortSignal.any` refers to, and it never fires: a listener keeps it.
 */
export const timeoutSignal = (ms: number): AbortSignal => {
  const signal = AbortSignal.timeout(ms);
  signal.addEventListener('abort', () => undefined);
  return signal;
};
