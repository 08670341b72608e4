import { START, type Position } from './event-store.ts';

/** 9,999,999,999,999,999 does not fit a JavaScript number; 2^53 does, and is three hundred years at a million a second. */
const WIDTH = 16;

/** Prints the n-th event's position, n from 1; 0 is `START`. The order of the text is the order of the numbers. */
export const printPosition = (n: number): Position =>
  n === 0 ? START : (String(n).padStart(WIDTH, '0') as Position);

/** @throws RangeError for a text that no adapter with dense positions has printed */
export const parsePosition = (position: Position): number => {
  if (position === START) return 0;
  const n = Number(position);
  if (!/^\d{16}$/.test(position) || !Number.isSafeInteger(n)) {
    throw new RangeError(`not a position of this log: ${JSON.stringify(position)}`);
  }
  return n;
};
