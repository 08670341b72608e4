import fresh from 'fresh';
import { z } from 'zod';
import { ASSETS_PATH } from '../../domain/assets/asset-resource.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import { route, type Reply, type Route } from '../../shared/http/route.ts';
import { securityHeaders } from '../../shared/http/security-headers.ts';
import { servedTypeOf } from '../../shared/storage/media-types.ts';
import { objectKeyOf, type ObjectKey, type ObjectStore } from '../../shared/storage/object-store.ts';
import { byteRangeOf } from './byte-range.ts';

interface Conditions {
  readonly range?: string | undefined;
  readonly 'if-range'?: string | undefined;
  readonly 'if-none-match'?: string | undefined;
}

const conditions = z.object({
  range: z.string().optional(),
  'if-range': z.string().optional(),
  'if-none-match': z.string().optional(),
});

/**
 * The bytes of assets, for everybody: an address is as good as a secret until it is published in an ad. What a key
 * stands for never changes, so nothing has to be asked of anybody again; no read model is needed to answer.
 */
export const serveRoute = (objects: ObjectStore): Route =>
  route({
    method: 'get',
    path: `${ASSETS_PATH}/{storageKey}`,
    operationId: 'readAsset',
    summary: 'The bytes of an asset: public, and the same for ever',
    tag: 'Assets',
    access: 'public',
    params: z.object({ storageKey: z.string().meta({ description: 'As the library says.' }) }),
    headers: conditions,
    responses: {
      200: { description: 'All bytes', mediaType: 'application/octet-stream' },
      206: { description: 'One range of them', mediaType: 'application/octet-stream' },
      304: { description: 'The bytes are those that the client has' },
    },
    handle: async ({ params: { storageKey }, headers }) => {
      const key = objectKeyOf(storageKey);
      const bytes = key === undefined ? undefined : await objects.sizeOf(key);
      if (key === undefined || bytes === undefined) throw notFound('asset');
      return answer(objects, key, bytes, headers);
    },
  });

const answer = (objects: ObjectStore, key: ObjectKey, bytes: number, asked: Conditions): Reply => {
  const { name, isPassive } = servedTypeOf(key);
  const etag = `"${key}"`;
  const headers = { ...harmless, ...(isPassive ? {} : asFile(key)), ...forEver, ETag: etag };
  if (fresh({ 'if-none-match': asked['if-none-match'] }, { etag })) return { status: 304, headers };
  const ifRange = asked['if-range'];
  const range = ifRange === undefined || ifRange === etag ? byteRangeOf(asked.range, bytes) : 'whole';
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
 * An uploaded page on this host must be able to do nothing at all: no script, no form, no request, no origin; its type
 * is not guessed, and its address is not passed on. Other sites may show it: that is what assets are for. The policy
 * adds the sandbox to that of every other answer.
 */
const harmless: Readonly<Record<string, string>> = {
  [POLICY]: `${policyOfAll};sandbox`,
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Referrer-Policy': 'no-referrer',
};

/** Whoever opens its address gets a file to save, and no page; where a page shows it as an image, it does. */
const asFile = (key: ObjectKey): Readonly<Record<string, string>> => ({
  'Content-Disposition': `attachment; filename="${key}"`,
});

const forEver: Readonly<Record<string, string>> = {
  'Cache-Control': 'public, max-age=31536000, immutable',
  'Accept-Ranges': 'bytes',
};

const outOfRange = (bytes: number): ApiError =>
  new ApiError(
    { code: 'RANGE_NOT_SATISFIABLE', message: `The asset has ${bytes} bytes. Ask for some of them.` },
    { 'Content-Range': `bytes */${bytes}` },
  );
