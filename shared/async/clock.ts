/** The only source of wall-clock time, passed in so that tests can set it. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

export const isoTimestamp = (epochMs: number): string => new Date(epochMs).toISOString();
