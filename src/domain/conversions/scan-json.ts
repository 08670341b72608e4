import { parseRfc3339 } from './rfc3339.ts';

/** Pieces of JSON in bytes of UTF-8, read by hand. Whatever says -1 leaves it to a real parser. */

const [SPACE, QUOTE, BACKSLASH, COMMA, DASH, DOT, ZERO, COLON, UPPER_Z] = [
  0x20, 0x22, 0x5c, 0x2c, 0x2d, 0x2e, 0x30, 0x3a, 0x5a,
] as const;
const [ARRAY, ARRAY_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d] as const;

/** The next place that is no white space. */
export const skipSpace = (bytes: Uint8Array, from: number): number => {
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at] as number;
    if (byte > SPACE || (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return at;
    at += 1;
  }
  return at;
};

/** By byte: 1 for what a text of ASCII without escapes does not hold. */
const STOPS = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte < SPACE || byte >= 0x80 || byte === QUOTE || byte === BACKSLASH),
);

/** Where a text of ASCII without escapes ends, the quote not included; -1 for any other text. */
export const plainTextEnd = (bytes: Uint8Array, from: number): number => {
  let at = from;
  while (at < bytes.length && STOPS[bytes[at] as number] === 0) at += 1;
  return at < bytes.length && bytes[at] === QUOTE ? at : -1;
};

export const isSame = (bytes: Uint8Array, one: number, other: number, length: number): boolean => {
  if (other + length > bytes.length) return false;
  for (let n = 0; n < length; n += 1) if (bytes[one + n] !== bytes[other + n]) return false;
  return true;
};

/** Where it goes on behind `piece`; -1 when it is not there. */
export const skipPiece = (bytes: Uint8Array, from: number, piece: Uint8Array): number => {
  if (from + piece.length > bytes.length) return -1;
  for (let n = 0; n < piece.length; n += 1) if (bytes[from + n] !== piece[n]) return -1;
  return from + piece.length;
};

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= ZERO + 9;

/** A number that was read, and where it goes on; `end` -1: not read. */
export interface ReadNumber {
  value: number;
  end: number;
}

/** So many digits are an exact integer, and a quotient of two such is the double nearest to the decimal. */
const DIGITS_MAX = 15;

/** Reads a number without exponent of up to 15 digits, and not -0, into `into`. */
export const readNumber = (bytes: Uint8Array, from: number, into: ReadNumber): void => {
  into.end = -1;
  const isNegative = bytes[from] === DASH;
  const start = isNegative ? from + 1 : from;
  let at = start;
  let digits = 0;
  for (; isDigit(bytes[at]); at += 1) digits = digits * 10 + (bytes[at] as number) - ZERO;
  if (at === start || (bytes[start] === ZERO && at > start + 1)) return;
  let places = at - start;
  let scale = 1;
  if (bytes[at] === DOT) {
    const first = at + 1;
    for (at = first; isDigit(bytes[at]); at += 1) {
      digits = digits * 10 + (bytes[at] as number) - ZERO;
      scale *= 10;
    }
    if (at === first) return;
    places += at - first;
  }
  const isExponent = ((bytes[at] ?? 0) | 0x20) === 0x65;
  if (places > DIGITS_MAX || isExponent || (isNegative && digits === 0)) return;
  into.value = isNegative ? -(digits / scale) : digits / scale;
  into.end = at;
};

/** What brackets say of a value. */
export interface Extent {
  /** Behind its last bracket. */
  readonly end: number;
  /** Values in it at most. */
  readonly values: number;
  readonly depth: number;
}

/** How far the object or array that begins here goes, whatever is in it; undefined when it does not end. */
export const extentOf = (bytes: Uint8Array, from: number): Extent | undefined => {
  let [depth, deepest, values] = [0, 0, 0];
  let isText = false;
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) isText = !isText;
    else if (isText) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === COMMA) values += 1;
    else if (byte === OBJECT || byte === ARRAY) {
      values += 1;
      depth += 1;
      deepest = Math.max(deepest, depth);
    } else if (byte === OBJECT_END || byte === ARRAY_END) {
      depth -= 1;
      if (depth === 0) return { end: at + 1, values, depth: deepest };
    }
  }
  return undefined;
};

const DAY_MS = 86_400_000;
const DAY_LENGTH = 'YYYY-MM-DDT'.length;
const [SECONDS_LENGTH, MS_LENGTH] = ['YYYY-MM-DDThh:mm:ssZ'.length, 'YYYY-MM-DDThh:mm:ss.sssZ'.length];

/**
 * Reads RFC 3339 date-times as `parseRfc3339` does, milliseconds since the epoch, NaN for what is none. Days repeat in
 * a batch: what follows the same day as before, in UTC, is read without a calendar.
 * @param text the bytes as Latin-1
 */
export const createTimeReader = (bytes: Uint8Array, text: string): ((from: number, to: number) => number) => {
  let [dayAt, dayMs] = [-1, 0];

  const number = (from: number, count: number): number => {
    let value = 0;
    for (let at = from; at < from + count; at += 1) {
      const digit = (bytes[at] as number) - ZERO;
      if (!(digit >= 0 && digit <= 9)) return Number.NaN;
      value = value * 10 + digit;
    }
    return value;
  };

  /** NaN: not of the usual form. */
  const withinDay = (from: number, length: number): number => {
    const isTime = bytes[from + 13] === COLON && bytes[from + 16] === COLON;
    const isUtc = bytes[from + length - 1] === UPPER_Z;
    const isLong = length === MS_LENGTH && bytes[from + 19] === DOT;
    if (!isTime || !isUtc || !(isLong || length === SECONDS_LENGTH)) return Number.NaN;
    const hour = number(from + 11, 2);
    const minute = number(from + 14, 2);
    const second = number(from + 17, 2);
    if (!(hour <= 23 && minute <= 59 && second <= 59)) return Number.NaN;
    return ((hour * 60 + minute) * 60 + second) * 1_000 + (isLong ? number(from + 20, 3) : 0);
  };

  return (from, to) => {
    if (dayAt >= 0 && isSame(bytes, dayAt, from, DAY_LENGTH)) {
      const ms = withinDay(from, to - from);
      if (!Number.isNaN(ms)) return dayMs + ms;
    }
    const timeMs = parseRfc3339(text.slice(from, to));
    if (timeMs === undefined) return Number.NaN;
    if (bytes[to - 1] === UPPER_Z) [dayAt, dayMs] = [from, Math.floor(timeMs / DAY_MS) * DAY_MS];
    return timeMs;
  };
};
