/** The only source of wall-clock time. Passed in wherever time is needed, so that tests can move it. */
export interface Clock {
  /** Milliseconds since the epoch, UTC. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** ISO 8601 in UTC with milliseconds, as every timestamp of the API (decisions.md 1.1, row 18). */
export const isoTimestamp = (epochMs: number): string => new Date(epochMs).toISOString();
