import { START, type Position } from './event-store.ts';

/** Safe integers have up to 16 digits: enough for 285 years at a million events a second. */
const WIDTH = 16;

/** Prints the position of the n-th event, n from 1; 0 is `START`. Text order equals numeric order. */
export const printPosition = (n: number): Position =>
  n === 0 ? START : (String(n).padStart(WIDTH, '0') as Position);

/** @throws RangeError for a text that is not a dense position */
export const parsePosition = (position: Position): number => {
  if (position === START) return 0;
  const n = Number(position);
  if (!/^\d{16}$/.test(position) || !Number.isSafeInteger(n)) {
    throw new RangeError(`not a position of this log: ${JSON.stringify(position)}`);
  }
  return n;
};
