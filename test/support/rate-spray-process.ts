/**
 * Counts requests of `ADDRESSES` addresses, then of as many others: `node --expose-gc rate-spray-process.js ADDRESSES`.
 * Prints the heap in use, in bytes, before, between and after, as a JSON list. A separate process, because timers that
 * other suites leave in a Jest worker would remain in its heap.
 */
import { OwnWindows } from '../../shared/limits/own-windows.ts';

const count = Number(process.argv[2]);
const windows = new OwnWindows({ keyPrefix: 'address', points: 10 * count, duration: 60 });

const heapUsed = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

const spray = async (from: number): Promise<number> => {
  for (let n = from; n < from + count; n++) await windows.consume(`2001:db8:${n.toString(16)}::/64`);
  return heapUsed();
};

console.log(JSON.stringify([heapUsed(), await spray(0), await spray(count)]));
