export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** Late work continues, and its outcome is ignored. */
export const timeout = <T>(
  ms: number,
  work: Promise<T>,
  late = (): Error => new TimeoutError(`no answer within ${Math.round(ms)} ms`),
): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });

export const settled = (ms: number, work: Promise<unknown>): Promise<void> =>
  timeout(ms, work).then(
    () => undefined,
    () => undefined,
  );

/** Node 20 collects a signal that only `AbortSignal.any` refers to; it never fires. A listener keeps it. */
export const timeoutSignal = (ms: number): AbortSignal => {
  const signal = AbortSignal.timeout(ms);
  signal.addEventListener('abort', () => undefined);
  return signal;
};
