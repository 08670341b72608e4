import { useEffect, useState } from 'react';
import type { ReceivedEvents } from '../api/types.ts';

const HOUR_MS = 3_600_000;

export interface Hour {
  readonly hour: string;
  readonly accepted: number;
  readonly rejected: number;
}

/** Every hour of the period: the API leaves out those without events. */
export const hoursOf = ({ periodStart, periodEnd, entries }: ReceivedEvents): readonly Hour[] => {
  const known = new Map(entries.map((entry) => [Date.parse(entry.hour), entry]));
  const hours: Hour[] = [];
  for (let at = Date.parse(periodStart); at <= Date.parse(periodEnd); at += HOUR_MS) {
    const entry = known.get(at);
    const rejected = entry?.rejected.reduce((sum, { count }) => sum + count, 0) ?? 0;
    hours.push({ hour: new Date(at).toISOString(), accepted: entry?.accepted ?? 0, rejected });
  }
  return hours;
};

/** Moves on when an hour begins. @param hours of the period, with the present one */
export const useStartHour = (hours: number): string => {
  const [hour, setHour] = useState(() => Math.floor(Date.now() / HOUR_MS));
  useEffect(() => {
    const timer = setTimeout(
      () => setHour((before) => before + 1),
      (hour + 1) * HOUR_MS - Date.now() + 1_000,
    );
    return () => clearTimeout(timer);
  }, [hour]);
  return new Date((hour - hours + 1) * HOUR_MS).toISOString();
};
