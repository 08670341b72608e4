const DAY_MS = 86_400_000;

/** Days since 1970-01-01, UTC. */
export const dayOfMs = (epochMs: number): number => Math.floor(epochMs / DAY_MS);

/** @param day since 1970-01-01 @returns `YYYY-MM-DD` */
export const dayText = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** @returns days since 1970-01-01, or the problem */
export const readDay = (text: string): number | string => {
  const epochMs = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  const isDay = epochMs >= 0 && dayText(dayOfMs(epochMs)) === text;
  return isDay ? dayOfMs(epochMs) : 'must be a day from 1970-01-01 on, as YYYY-MM-DD';
};
