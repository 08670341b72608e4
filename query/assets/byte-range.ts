import parseRange from 'range-parser';
import type { ByteRange } from '../../shared/storage/object-store.ts';

/**
 * The first range of a `Range` header (RFC 9110, 14.2), limited to `bytes`. @returns `whole` for headers that a
 * server may ignore (several ranges, other units, invalid syntax), `none` if the range is not satisfiable
 */
export const byteRangeOf = (header: string | undefined, bytes: number): ByteRange | 'whole' | 'none' => {
  if (header?.startsWith('bytes=') !== true) return 'whole';
  const ranges = parseRange(bytes, header);
  if (ranges === -1) return isLeftAside(header) ? 'whole' : 'none';
  const [range, ...more] = ranges === -2 ? [] : ranges;
  return range === undefined || more.length > 0 ? 'whole' : { first: range.start, last: range.end };
};

/**
 * The package calls two such ranges unsatisfiable: one that ends before its start, and a suffix longer than the
 * whole.
 */
const isLeftAside = (header: string): boolean => {
  const [, from, to] = /^bytes=\s*(\d*)\s*-\s*(\d+)\s*$/.exec(header) ?? [];
  return from === '' ? Number(to) > 0 : Number(to) < Number(from);
};
