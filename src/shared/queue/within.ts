/**
 * Waits for `work`, for `ms` at most. What was begun goes on by itself, and its failure is nobody's then.
 * @throws Error after that time: the outcome is unknown
 */
export const withinMs = <T>(ms: number, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`not done within ${ms} ms`)), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
