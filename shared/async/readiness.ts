import { timeout, TimeoutError } from './timeout.ts';

/** One part of what a process serves. */
export interface ReadinessPart {
  readonly name: string;
  /** True: the process serves its clients without it, too. It is shown, and makes nothing unready. */
  readonly optional?: boolean;
  /** Whether the part works now; `detail` is shown to operators and holds nothing secret. */
  check(): Promise<PartStatus>;
}

export interface PartStatus {
  readonly ready: boolean;
  readonly detail?: unknown;
}

export interface Readiness {
  readonly ready: boolean;
  readonly parts: Readonly<Record<string, PartStatus>>;
}

export type CheckReadiness = () => Promise<Readiness>;

/**
 * Asks all parts at once; a part that does not answer within `partMsMax`, or throws, is not ready. Anyone may
 * ask and nobody is counted, so callers who come while a check runs share it.
 */
export const createReadiness = (parts: readonly ReadinessPart[], partMsMax: number): CheckReadiness => {
  let running: Promise<Readiness> | undefined;
  return () =>
    (running ??= check(parts, partMsMax).finally(() => {
      running = undefined;
    }));
};

const check = async (parts: readonly ReadinessPart[], partMsMax: number): Promise<Readiness> => {
  const statuses = await Promise.all(
    parts.map(async (part) => ({ part, status: await statusOf(part, partMsMax) })),
  );
  return {
    ready: statuses.every(({ part, status }) => status.ready || part.optional === true),
    parts: Object.fromEntries(statuses.map(({ part, status }) => [part.name, status])),
  };
};

const statusOf = async (part: ReadinessPart, partMsMax: number): Promise<PartStatus> => {
  try {
    return await timeout(partMsMax, part.check());
  } catch (error) {
    return { ready: false, detail: error instanceof TimeoutError ? error.message : 'cannot be reached' };
  }
};
