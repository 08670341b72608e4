import { entryAt, typeAt, type ConversionsLogged } from '../domain/conversions/conversion-events.ts';

const HOUR_MS = 3_600_000;
/** Values of up to six decimals are summed exactly, as whole millionths. */
const SCALE = 1_000_000;
const EXACT_MAX = 2 ** 52;

/** What is added to one row of `conversion_hours`. */
export interface HourSum {
  readonly customerId: number;
  readonly sourceId: string;
  readonly advertiserId: number;
  /** Start of the hour, milliseconds since the epoch. */
  readonly hourMs: number;
  readonly eventType: string;
  /** Empty: none. */
  readonly currency: string;
  count: number;
  millionths: number;
  /** Of values that are no whole millionths, or too many of them for a number. */
  rest: number;
}

export type HourSums = Map<string, HourSum>;

/** Adds the items of one event to the sums of their hours. */
export const addItems = (
  sums: HourSums,
  source: Pick<HourSum, 'customerId' | 'sourceId'>,
  data: ConversionsLogged,
): void => {
  const { eventTimes, values, currencies, advertiserId } = data;
  const types = data.eventTypes.indexes;
  // No texts are put together for each item: of one event, these numbers say the same.
  const own = new Map<number, HourSum>();
  for (let item = 0; item < eventTimes.length; item += 1) {
    const hour = Math.floor((eventTimes[item] as number) / HOUR_MS);
    const type = types?.[item] ?? 0;
    const currency = currencies === undefined ? -1 : (currencies.indexes?.[item] ?? 0);
    const place = (hour * TYPES_MAX + type) * ITEMS_MAX + currency;
    let sum = own.get(place);
    if (sum === undefined) {
      sum = sumOf(sums, {
        ...source,
        advertiserId,
        hourMs: hour * HOUR_MS,
        eventType: typeAt(data, item),
        currency: entryAt(currencies, item) ?? '',
      });
      own.set(place, sum);
    }
    sum.count += 1;
    addValue(sum, values?.[item] ?? 0);
  }
};

/** More than there are event types, and more than an event has currencies. */
const TYPES_MAX = 64;
const ITEMS_MAX = 16_384;

const sumOf = (sums: HourSums, row: Omit<HourSum, 'count' | 'millionths' | 'rest'>): HourSum => {
  const key = `${row.customerId} ${row.sourceId} ${row.hourMs} ${row.eventType} ${row.currency}`;
  const known = sums.get(key);
  if (known !== undefined) return known;
  const sum = { ...row, count: 0, millionths: 0, rest: 0 };
  sums.set(key, sum);
  return sum;
};

const addValue = (sum: HourSum, value: number): void => {
  const scaled = Math.round(value * SCALE);
  const isExact = scaled / SCALE === value && Math.abs(sum.millionths + scaled) < EXACT_MAX;
  if (isExact) sum.millionths += scaled;
  else sum.rest += value;
};

/**
 * The sum as Postgres reads a `numeric`: exact for values of up to six decimals; what is beyond a double's range
 * stays at its end.
 */
export const sumText = ({ millionths, rest }: HourSum): readonly [exact: string, rest: string] => {
  const digits = String(Math.abs(millionths)).padStart(7, '0');
  const exact = `${millionths < 0 ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`;
  const bounded = Number.isNaN(rest) ? 0 : Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, rest));
  return [exact, String(bounded)];
};
