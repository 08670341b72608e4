import { createWakeUp, type WakeUp } from '../async/wake-up.ts';

/** A hint for readers in this process; if another process runs the read model, they poll. */
export interface ProjectionProgress {
  advanced(projection: string): void;
  /** Read it before the query, so that no wake-up is missed. */
  version(projection: string): number;
  /** Also resolves after `timeoutMs` and on abort. */
  beyond(projection: string, seen: number, timeoutMs: number, signal?: AbortSignal): Promise<void>;
}

interface Progress {
  version: number;
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
