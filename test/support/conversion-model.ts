import { readRfc3339 } from '../../domain/rfc3339.ts';

/** A simple model of endpoint 14's answers: one set of known events, sequential calls. */
export interface ModelAnswer {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: readonly number[];
}

type Item = {
  readonly eventId?: unknown;
  readonly eventTime?: unknown;
  readonly eventType?: string;
  readonly value?: unknown;
};

const isValid = (item: Item | null, nowMs: number): item is Item & { readonly eventId: string } => {
  if (typeof item !== 'object' || item === null) return false;
  const { eventId, eventTime, value } = item;
  const timeMs = typeof eventTime === 'string' ? readRfc3339(eventTime) : undefined;
  const isInTime = typeof timeMs === 'number' && Math.abs(timeMs - nowMs) < 86_400_000;
  return (
    typeof eventId === 'string' &&
    eventId !== '' &&
    isInTime &&
    (value === undefined || typeof value === 'number')
  );
};

export const createModel = (nowMs: number) => {
  const known = new Set<string>();
  return {
    known,
    answer: (items: readonly unknown[]): ModelAnswer => {
      const rejected: number[] = [];
      let accepted = 0;
      items.forEach((item, index) => {
        const one = item as Item | null;
        if (!isValid(one, nowMs)) return rejected.push(index);
        const key = `${one.eventType ?? 'custom'} ${one.eventId}`;
        if (!known.has(key)) accepted += 1;
        return known.add(key);
      });
      return { accepted, duplicates: items.length - accepted - rejected.length, rejected };
    },
  };
};
