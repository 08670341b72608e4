import { createWakeUp, type WakeUp } from '../async/wake-up.ts';

/**
 * Tells readers in this process that a read model has moved, so that they look again at once instead of
 * polling. A hint: with the read model run by another process nothing is ever said, and polling does it.
 */
export interface ProjectionProgress {
  /** A transaction of this read model was committed by this process. */
  advanced(projection: string): void;
  /** How often `advanced` was called; to be read before the query, so that no wake-up is missed. */
  version(projection: string): number;
  /** Resolves as soon as the version is no longer `seen`, after `timeoutMs`, or on abort. */
  beyond(projection: string, seen: number, timeoutMs: number, signal?: AbortSignal): Promise<void>;
}

interface Progress {
  version: number;
  /** As many wait as there are reads, which the HTTP kernel bounds. */
  readonly change: WakeUp;
}

export const createProjectionProgress = (): ProjectionProgress => {
  const known = new Map<string, Progress>();
  const progressOf = (projection: string): Progress => {
    const progress = known.get(projection) ?? { version: 0, change: createWakeUp() };
    known.set(projection, progress);
    return progress;
  };
  return {
    advanced: (projection) => {
      const progress = progressOf(projection);
      progress.version += 1;
      progress.change.wake();
    },
    version: (projection) => progressOf(projection).version,
    beyond: async (projection, seen, timeoutMs, signal) => {
      const { version, change } = progressOf(projection);
      if (version === seen) await change.next({ timeoutMs, signal });
    },
  };
};
