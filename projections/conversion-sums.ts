import { entryAt, typeAt, type ConversionsLogged } from '../domain/conversions/events.ts';

const HOUR_MS = 3_600_000;
/** Values of up to six decimals are summed exactly, as integers of millionths. */
const SCALE = 1_000_000;
const EXACT_MAX = 2 ** 52;

export interface HourSum {
  readonly customerId: number;
  readonly sourceId: string;
  readonly advertiserId: number;
  readonly hourMs: number;
  readonly eventType: string;
  readonly currency: string;
  count: number;
  millionths: number;
  /** Sum of the values that are not whole millionths, or beyond the exact range. */
  rest: number;
}

export type HourSums = Map<string, HourSum>;

export const addItems = (
  sums: HourSums,
  source: Pick<HourSum, 'customerId' | 'sourceId'>,
  data: ConversionsLogged,
): void => {
  const { eventTimes, values, currencies, advertiserId } = data;
  const types = data.eventTypes.indexes;
  // A numeric key, unique within one event, avoids building a text for each item.
  const own = new Map<number, HourSum>();
  for (let item = 0; item < eventTimes.length; item += 1) {
    const hour = Math.floor((eventTimes[item] as number) / HOUR_MS);
    const type = types?.[item] ?? 0;
    const currency = currencies === undefined ? -1 : (currencies.indexes?.[item] ?? 0);
    const place = (hour * TYPES_MAX + type) * ITEMS_MAX + currency;
    let sum = own.get(place);
    if (sum === undefined) {
      sum = sumOf(sums, {
        customerId: source.customerId,
        sourceId: source.sourceId,
        advertiserId,
        hourMs: hour * HOUR_MS,
        eventType: typeAt(data, item),
        currency: entryAt(currencies, item) ?? '',
        count: 0,
        millionths: 0,
        rest: 0,
      });
      own.set(place, sum);
    }
    sum.count += 1;
    addValue(sum, values?.[item] ?? 0);
  }
};

/** More than the number of event types, and more than the currencies in one event. */
const TYPES_MAX = 64;
const ITEMS_MAX = 16_384;

const sumOf = (sums: HourSums, zero: HourSum): HourSum => {
  const key = `${zero.customerId} ${zero.sourceId} ${zero.hourMs} ${zero.eventType} ${zero.currency}`;
  const known = sums.get(key);
  if (known !== undefined) return known;
  sums.set(key, zero);
  return zero;
};

const addValue = (sum: HourSum, value: number): void => {
  const scaled = Math.round(value * SCALE);
  const isExact = scaled / SCALE === value && Math.abs(sum.millionths + scaled) < EXACT_MAX;
  if (isExact) sum.millionths += scaled;
  else sum.rest += value;
};

/** Exact for values of up to six decimals. `rest` is clamped to the range of a double. */
export const sumText = ({ millionths, rest }: HourSum): readonly [exact: string, rest: string] => {
  const digits = String(Math.abs(millionths)).padStart(7, '0');
  const exact = `${millionths < 0 ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`;
  const bounded = Number.isNaN(rest) ? 0 : Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, rest));
  return [exact, String(bounded)];
};
