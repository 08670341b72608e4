import { timeout, TimeoutError } from './timeout.ts';

export interface ReadinessPart {
  readonly name: string;
  /** Shown, but the process is ready without it. */
  readonly optional?: boolean;
  check(): Promise<PartStatus>;
}

export interface PartStatus {
  readonly ready: boolean;
  /** For operators. Must not contain secrets; may name streams of tenants and positions of the log. */
  readonly detail?: unknown;
  /** For everyone who reaches the service. */
  readonly publicDetail?: PublicDetail;
}

/** How far the read models are, without what a tenant could learn about the others from. */
export interface PublicDetail {
  readonly degraded: boolean;
  readonly projections: readonly {
    readonly name: string;
    readonly state: string;
    readonly lagEvents?: number;
    readonly lagBytes?: number;
    readonly parkedStreams: number;
  }[];
}

export interface Readiness {
  readonly ready: boolean;
  readonly parts: Readonly<Record<string, PartStatus>>;
}

export type CheckReadiness = () => Promise<Readiness>;

/** A part slower than `partMsMax` is not ready. Concurrent callers share one check: it has no rate limit. */
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
