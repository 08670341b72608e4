import type { ItemCounter } from './item-counter.ts';

/**
 * The elements of an array; or of the longest one among the members of an object; or JSON values one after the other, one
 * a line, say. Not a parser: undefined of what does not end where it should.
 */
export const countJson = (): ItemCounter => {
  let depth = 0;
  let inString = false;
  let isEscaped = false;
  let values = 0;
  /** Depth of the array whose elements are counted; 0 outside of it. */
  let arrayDepth = 0;
  let elements = 0;
  let isEmpty = true;
  let longest = -1;
  let isArray = false;

  const open = (byte: number): void => {
    depth += 1;
    if (depth === 1) isArray = byte === 0x5b;
    if (byte === 0x5b && (depth === 1 || (depth === 2 && !isArray))) {
      [arrayDepth, elements, isEmpty] = [depth, 0, true];
    }
  };
  const close = (): void => {
    if (depth === arrayDepth) {
      longest = Math.max(longest, isEmpty ? 0 : elements + 1);
      arrayDepth = 0;
    }
    depth -= 1;
    if (depth === 0) values += 1;
  };
  const addByte = (byte: number): void => {
    if (inString) {
      if (isEscaped) isEscaped = false;
      else if (byte === 0x5c) isEscaped = true;
      else if (byte === 0x22) inString = false;
      return;
    }
    const isClosing = byte === 0x5d || byte === 0x7d;
    if (isClosing) return close();
    if (byte > 0x20 && depth === arrayDepth) isEmpty = false;
    if (byte === 0x22) inString = true;
    else if (byte === 0x5b || byte === 0x7b) open(byte);
    else if (byte === 0x2c && depth === arrayDepth) elements += 1;
  };

  return {
    add: (piece) => {
      for (const byte of piece) addByte(byte);
    },
    seen: () => Math.max(values, elements),
    count: () => {
      if (depth !== 0 || inString) return undefined;
      if (values > 1) return values;
      return longest < 0 ? undefined : longest;
    },
  };
};
