import type { ItemCounter } from './item-counter.ts';

const QUOTE = 0x22;
const DELIMITERS = [0x09, 0x2c, 0x3b, 0x7c];

/** The rows of a table, without its first, which names the columns (RFC 4180; tab, comma, semicolon or bar). */
export const countDelimited = (): ItemCounter => {
  let rows = 0;
  /** Something packed has such bytes, and no rows. */
  let isText = true;
  let isBlank = true;
  let delimiter = 0;
  /** A quote opens only what it stands at the beginning of: within a value it may be an inch. */
  let atFieldStart = true;
  let inQuotes = false;
  /** The byte before was a quote that may have been the last. */
  let wasQuote = false;

  const addByte = (byte: number): void => {
    if (byte === 0) isText = false;
    if (inQuotes) {
      if (byte === QUOTE) [inQuotes, wasQuote] = [false, true];
      return;
    }
    if (byte === QUOTE && (atFieldStart || wasQuote)) {
      [inQuotes, isBlank, atFieldStart, wasQuote] = [true, false, false, false];
      return;
    }
    wasQuote = false;
    if (byte === 0x0a || byte === 0x0d) {
      if (!isBlank) rows += 1;
      [isBlank, atFieldStart] = [true, true];
      return;
    }
    if (delimiter === 0 && DELIMITERS.includes(byte)) delimiter = byte;
    atFieldStart = byte === delimiter;
    if (byte !== 0x20) isBlank = false;
  };

  return {
    add: (piece) => {
      for (const byte of piece) addByte(byte);
    },
    seen: () => rows,
    count: () => (isText ? Math.max(0, rows + (isBlank ? 0 : 1) - 1) : undefined),
  };
};
