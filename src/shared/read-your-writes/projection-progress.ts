/**
 * Tells readers in this process that a read model has moved, so that they look again at once instead of
 * polling. A hint: with the read model run by another process nothing is ever said, and polling does it.
 */
export interface ProjectionProgress {
  /** A transaction of this read model was committed by this process. */
  advanced(projection: string): void;
  /** How often `advanced` was called; to be read before the query, so that no wake-up is missed. */
  version(projection: string): number;
  /** Resolves as soon as the version is no longer `seen`, or after `timeoutMs`. */
  beyond(projection: string, seen: number, timeoutMs: number): Promise<void>;
}

interface Progress {
  version: number;
  /** As many as there are reads waiting, which the HTTP kernel bounds. */
  readonly waiting: Set<() => void>;
}

export const createProjectionProgress = (): ProjectionProgress => {
  const known = new Map<string, Progress>();
  const progressOf = (projection: string): Progress => {
    const progress = known.get(projection) ?? { version: 0, waiting: new Set() };
    known.set(projection, progress);
    return progress;
  };
  return {
    advanced: (projection) => {
      const progress = progressOf(projection);
      progress.version += 1;
      for (const done of progress.waiting) done();
    },
    version: (projection) => progressOf(projection).version,
    beyond: (projection, seen, timeoutMs) =>
      new Promise((resolve) => {
        const progress = progressOf(projection);
        if (progress.version !== seen) return resolve();
        const done = (): void => {
          clearTimeout(timer);
          progress.waiting.delete(done);
          resolve();
        };
        const timer = setTimeout(done, timeoutMs);
        progress.waiting.add(done);
      }),
  };
};
