/** There was no outcome in time. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * Waits for `work`, for `ms` at most. Work that is late goes on; its outcome is ignored.
 * @param late makes the error of that
 */
export const timeout = <T>(
  ms: number,
  work: Promise<T>,
  late = (): Error => new TimeoutError(`no answer within ${Math.round(ms)} ms`),
): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });

/** Waits until `work` has ended in any way, for `ms` at most. */
export const settled = (ms: number, work: Promise<unknown>): Promise<void> =>
  timeout(ms, work).then(
    () => undefined,
    () => undefined,
  );

/**
 * `AbortSignal.timeout(ms)` that goes off. Node 20 lets the garbage collector take one that nothing but `AbortSignal.any`
 * refers to, and a request would then wait for ever: a listener keeps it.
 */
export const timeoutSignal = (ms: number): AbortSignal => {
  const signal = AbortSignal.timeout(ms);
  signal.addEventListener('abort', () => undefined);
  return signal;
};
