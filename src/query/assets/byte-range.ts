import type { ByteRange } from '../../shared/storage/object-store.ts';

const ONE_RANGE = /^bytes=(?:(\d{1,15})-(\d{0,15})|-(\d{1,15}))$/;

/**
 * What a `Range` header asks for (RFC 9110, 14.2): one range, cut to what there is; `whole` for whatever a server may
 * leave aside: several ranges, another unit, something broken.
 */
export const byteRangeOf = (header: string | undefined, bytes: number): ByteRange | 'whole' | 'none' => {
  const match = header === undefined ? null : ONE_RANGE.exec(header.replaceAll(' ', ''));
  if (match === null) return 'whole';
  const [, from, to, last] = match;
  if (last !== undefined) {
    const wanted = Math.min(Number(last), bytes);
    return wanted === 0 ? 'none' : { first: bytes - wanted, last: bytes - 1 };
  }
  const first = Number(from);
  const end = to === undefined || to === '' ? bytes - 1 : Number(to);
  if (end < first && to !== '') return 'whole';
  return first >= bytes ? 'none' : { first, last: Math.min(end, bytes - 1) };
};
