import { isoTimestamp, systemClock } from '../../shared/async/clock.ts';
import { rawRequest } from './http-load.ts';

/** Ids of a fixed width: a request is put together from pieces that are made once. */
const WIDTH = 12;
const idOf = (n: number): string => String(n).padStart(WIDTH, '0');

/** Which events the next call sends. */
export type NextIds = (count: number) => number;

/** Events nobody has sent before. */
export const newIds = (start = 0): NextIds => {
  let next = start;
  return (count) => {
    next += count;
    return next - count;
  };
};

/** Half of each call was sent before: it begins in the middle of the one before it. */
export const halfNewIds = (start: number): NextIds => {
  let next = start;
  return (count) => {
    const from = Math.max(0, next - Math.ceil(count / 2));
    next = from + count;
    return from;
  };
};

/** Always the same. */
export const sameIds = (): NextIds => () => 0;

/**
 * Requests of `count` events with ids from `next`, some 145 bytes each.
 * @param prefix sets the ids of one measurement apart
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
