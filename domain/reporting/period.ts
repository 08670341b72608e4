import { dayText } from './day.ts';

/** For conversions by hour and days of sellers: thirteen months, and some days. */
export const REPORT_KEPT_DAYS = 400;

const DAYS_MAX = 90;
const DAYS_DEFAULT = 7;

/** Both included, in days since 1970-01-01. */
export interface Period {
  readonly start: number;
  readonly end: number;
}

export interface AskedRange {
  readonly startDate?: number | undefined;
  readonly endDate?: number | undefined;
  readonly lifetime?: boolean | undefined;
}

/** @param today since 1970-01-01 @returns the period, or the problem of the range */
export const periodOf = (
  { startDate, endDate, lifetime = false }: AskedRange,
  today: number,
): Period | string => {
  if (lifetime) {
    const hasDates = startDate !== undefined || endDate !== undefined;
    if (hasDates) return 'Ask for dates or for the lifetime, not for both.';
    // The oldest day may be deleted in part.
    return { start: today - REPORT_KEPT_DAYS + 1, end: today };
  }
  const end = endDate ?? Math.max(today, startDate ?? today);
  const start = startDate ?? Math.max(0, end - DAYS_DEFAULT + 1);
  if (start > end) return 'The start date must not be after the end date.';
  if (end - start >= DAYS_MAX) return `Ask for at most ${DAYS_MAX} days, or for the lifetime.`;
  return { start, end };
};

export const shownPeriod = ({ start, end }: Period) => ({ startDate: dayText(start), endDate: dayText(end) });
