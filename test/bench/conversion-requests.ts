import { isoTimestamp, systemClock } from '../../shared/async/clock.ts';
import { rawRequest } from './http-load.ts';

/** All ids have the same width, so that a request can be assembled from prepared pieces. */
const WIDTH = 12;
const idOf = (n: number): string => String(n).padStart(WIDTH, '0');

/** Chooses the events of the next call. @returns the number of the first */
export type NextIds = (count: number) => number;

/** Only new events. */
export const newIds = (start = 0): NextIds => {
  let next = start;
  return (count) => {
    next += count;
    return next - count;
  };
};

/** Each call starts in the middle of the previous one, so half of its events are duplicates. */
export const halfNewIds = (start: number): NextIds => {
  let next = start;
  return (count) => {
    const from = Math.max(0, next - Math.ceil(count / 2));
    next = from + count;
    return from;
  };
};

/** Always the same events. */
export const sameIds = (): NextIds => () => 0;

/**
 * Requests with `count` events of about 145 bytes and ids from `next`.
 * @param prefix separates the ids of different measurements
 */
export const conversionRequests = (
  path: string,
  headers: Readonly<Record<string, string>>,
  count: number,
  next: NextIds,
  keyed?: () => string,
): (() => string) => {
  const eventTime = isoTimestamp(systemClock.now());
  const tail = `","eventTime":"${eventTime}","eventType":"purchase","value":12.5,"currency":"EUR","orderRef":"00000000-0000"}`;
  return () => {
    const from = next(count);
    const items: string[] = [];
    for (let n = 0; n < count; n += 1) items.push(`{"eventId":"order-${idOf(from + n)}${tail}`);
    const key = keyed === undefined ? {} : { 'Idempotency-Key': keyed() };
    const body = `{"events":[${items.join(',')}]}`;
    return rawRequest('POST', path, { 'Content-Type': 'application/json', ...headers, ...key }, body);
  };
};
