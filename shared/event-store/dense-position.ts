import { START, type Position } from './event-store.ts';

/** Digits of a safe integer: enough for 285 years at a million events a second. */
const WIDTH = 16;

/** Text order equals numeric order. */
export const printPosition = (n: number): Position =>
  n === 0 ? START : (String(n).padStart(WIDTH, '0') as Position);

/** @throws RangeError */
export const parsePosition = (position: Position): number => {
  if (position === START) return 0;
  const n = Number(position);
  if (!/^\d{16}$/.test(position) || !Number.isSafeInteger(n)) {
    throw new RangeError(`not a position of this log: ${JSON.stringify(position)}`);
  }
  return n;
};
