import fresh from 'fresh';
import parseRange from 'range-parser';
import { z } from 'zod';
import { isAnswerKey } from '../../domain/proposals/resource.ts';
import { ASSETS_PATH } from '../../domain/assets/resource.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import { route, type Reply, type Route } from '../../shared/http/route.ts';
import { securityHeaders } from '../../shared/http/security-headers.ts';
import { servedTypeOf } from '../../shared/storage/media-types.ts';
import {
  objectKeyOf,
  type ByteRange,
  type ObjectKey,
  type ObjectStore,
} from '../../shared/storage/object-store.ts';

interface Conditions {
  readonly range?: string | undefined;
  readonly 'if-range'?: string | undefined;
  readonly 'if-none-match'?: string | undefined;
}

const ConditionHeaders = z.object({
  range: z.string().optional(),
  'if-range': z.string().optional(),
  'if-none-match': z.string().optional(),
});

/** Public: a URL is unguessable until an ad publishes it. Objects never change: cached without limit. */
export const serveRoute = (objects: ObjectStore): Route =>
  route({
    method: 'get',
    path: `${ASSETS_PATH}/{storageKey}`,
    operationId: 'readAsset',
    alsoRefuses: ['RANGE_NOT_SATISFIABLE'],
    summary: 'The bytes of an asset: public and immutable',
    tag: 'Assets',
    access: 'public',
    params: z.object({ storageKey: z.string().meta({ description: 'storageKey of the asset.' }) }),
    headers: ConditionHeaders,
    responses: {
      200: { description: 'All bytes', mediaType: 'application/octet-stream' },
      206: { description: 'One range of them', mediaType: 'application/octet-stream' },
      304: { description: 'The client already has these bytes' },
    },
    handle: async ({ params: { storageKey }, headers }) => {
      const key = isAnswerKey(storageKey) ? undefined : objectKeyOf(storageKey);
      const bytes = key === undefined ? undefined : await objects.sizeOf(key);
      if (key === undefined || bytes === undefined) throw notFound('asset');
      return answer(objects, key, bytes, headers);
    },
  });

const answer = (objects: ObjectStore, key: ObjectKey, bytes: number, conditions: Conditions): Reply => {
  const { name, isPassive } = servedTypeOf(key);
  const etag = `"${key}"`;
  const headers = { ...harmless, ...(isPassive ? {} : asFile(key)), ...cacheHeaders, ETag: etag };
  if (fresh({ 'if-none-match': conditions['if-none-match'] }, { etag })) return { status: 304, headers };
  const ifRange = conditions['if-range'];
  const range = ifRange === undefined || ifRange === etag ? byteRangeOf(conditions.range, bytes) : 'whole';
  if (range === 'none') throw outOfRange(bytes);
  const part = range === 'whole' ? undefined : range;
  const open = async () => {
    const stream = await objects.read(key, part);
    if (stream === undefined) throw notFound('asset');
    return stream;
  };
  if (part === undefined) return { status: 200, bytes: { contentType: name, length: bytes, open }, headers };
  return {
    status: 206,
    bytes: { contentType: name, length: part.last - part.first + 1, open },
    headers: { ...headers, 'Content-Range': `bytes ${part.first}-${part.last}/${bytes}` },
  };
};

const POLICY = 'Content-Security-Policy';
const policyOfAll = new Map(securityHeaders(false)).get(POLICY) ?? "default-src 'none'";

/**
 * An uploaded page has no power on this host: no script, form, request, origin, guessed type or referrer.
 * Other sites may embed it: that is the purpose of assets.
 */
const harmless: Readonly<Record<string, string>> = {
  [POLICY]: `${policyOfAll};sandbox`,
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Referrer-Policy': 'no-referrer',
};

/** Browsers download the URL instead of opening it as a page; embedded images still work. */
const asFile = (key: ObjectKey): Readonly<Record<string, string>> => ({
  'Content-Disposition': `attachment; filename="${key}"`,
});

const cacheHeaders: Readonly<Record<string, string>> = {
  'Cache-Control': 'public, max-age=31536000, immutable',
  'Accept-Ranges': 'bytes',
};

const outOfRange = (bytes: number): ApiError =>
  new ApiError(
    { code: 'RANGE_NOT_SATISFIABLE', message: `The asset has ${bytes} bytes. Ask for some of them.` },
    { 'Content-Range': `bytes */${bytes}` },
  );

/** RFC 9110, 14.2: the first range. @returns `whole` for ignorable headers, `none` if not satisfiable */
export const byteRangeOf = (header: string | undefined, bytes: number): ByteRange | 'whole' | 'none' => {
  if (header?.startsWith('bytes=') !== true) return 'whole';
  const ranges = parseRange(bytes, header);
  if (ranges === -1) return isLeftAside(header) ? 'whole' : 'none';
  const [range, ...more] = ranges === -2 ? [] : ranges;
  return range === undefined || more.length > 0 ? 'whole' : { first: range.start, last: range.end };
};

/** The package calls these unsatisfiable: an end before the start, and a suffix longer than the whole. */
const isLeftAside = (header: string): boolean => {
  const [, from, to] = /^bytes=\s*(\d*)\s*-\s*(\d+)\s*$/.exec(header) ?? [];
  return from === '' ? Number(to) > 0 : Number(to) < Number(from);
};
