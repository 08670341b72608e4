import parseRange from 'range-parser';
import type { ByteRange } from '../../shared/storage/object-store.ts';

/**
 * What a `Range` header asks for (RFC 9110, 14.2): one range, cut to what there is; `whole` for whatever a server may
 * leave aside: several ranges, another unit, something broken.
 */
export const byteRangeOf = (header: string | undefined, bytes: number): ByteRange | 'whole' | 'none' => {
  if (header?.startsWith('bytes=') !== true) return 'whole';
  const ranges = parseRange(bytes, header);
  if (ranges === -1) return isLeftAside(header) ? 'whole' : 'none';
  const [range, ...more] = ranges === -2 ? [] : ranges;
  return range === undefined || more.length > 0 ? 'whole' : { first: range.start, last: range.end };
};

/** The package takes a range whose end is before its start, and a suffix longer than all there is, for unsatisfiable. */
const isLeftAside = (header: string): boolean => {
  const [, from, to] = /^bytes=\s*(\d*)\s*-\s*(\d+)\s*$/.exec(header) ?? [];
  return from === '' ? Number(to) > 0 : Number(to) < Number(from);
};
