import { z } from 'zod';
import { shownAssetId, shownUploadId, type ReservedAsset } from '../../domain/assets/asset-resource.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { ofRequest } from '../../shared/aggregate/handler-for.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import { ApiError } from '../../shared/http/errors.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { boundedText, pathIntegerId } from '../../shared/http/schemas.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { MEDIA_TYPE, mediaTypeOf } from '../../shared/storage/media-types.ts';
import { writableAdvertiser } from '../advertisers/load.ts';
import { executeOnAsset, type AssetWrites } from './asset-writes.ts';

/** An upload must begin within this time (decisions.md E12/E13). */
const TOKEN_MINUTES = 15;
const INT32_MAX = 2_147_483_647;

const measure = (description: string) =>
  z
    .int()
    .min(0)
    .max(INT32_MAX)
    .optional()
    .meta({ description: `${description}. The measures found in the bytes take precedence.` });

const ReserveBody = z
  .object({
    name: boundedText(1, 255),
    mimeType: z
      .string()
      .max(127)
      .transform((text) => text.toLowerCase())
      .pipe(z.string().regex(MEDIA_TYPE, 'must be a media type without parameters, e.g. image/png')),
    bytes: z.int().min(1).max(INT32_MAX).optional().meta({ description: 'The exact size of the upload.' }),
    sha256: z
      .string()
      .regex(/^[0-9A-Fa-f]{64}$/, 'must be 64 hexadecimal digits')
      .transform((text) => text.toLowerCase())
      .optional()
      .meta({ description: 'SHA-256 of the bytes: other bytes are refused.' }),
    width: measure('Pixels'),
    height: measure('Pixels'),
    durationMs: measure('Milliseconds'),
  })
  .meta({ id: 'ReserveUpload' });

const Reservation = z
  .strictObject({
    uploadId: z.string(),
    assetId: z.string(),
    uploadUrl: z.string().meta({ description: 'Anyone with this address may upload: keep it secret.' }),
    method: z.literal('PUT'),
    headers: z.strictObject({ 'Content-Type': z.literal('application/octet-stream') }),
    maxBytes: z.int(),
    expiresAt: z.iso.datetime({ precision: 3 }),
  })
  .meta({ id: 'UploadReservation' });

export const reserveRoute = (writes: AssetWrites): Route =>
  route({
    method: 'post',
    path: '/api/v2/buyer/advertisers/{id}/assets/uploads',
    operationId: 'reserveAssetUpload',
    summary: 'Reserve a place for the bytes of an asset, and the address to send them to',
    tag: 'Assets',
    access: 'exchange:write',
    params: z.object({ id: pathIntegerId('advertiser') }),
    body: ReserveBody,
    answerIsSecret: true,
    responses: { 201: { description: 'Where to send the bytes, and until when', data: Reservation } },
    handle: async ({ params: { id: advertiserId }, body, request }) => {
      const { customerId } = request.principal;
      const bytesMax = writes.bytesMax(body.mimeType);
      if ((body.bytes ?? 0) > bytesMax) throw tooLarge(body.mimeType, bytesMax);
      await writableAdvertiser(writes, customerId, advertiserId);
      const assetId = derivedId(request.commandId, 'asset');
      const expiresAt = isoTimestamp((await databaseTime(writes)) + TOKEN_MINUTES * 60_000);
      const { kind: mediaKind } = mediaTypeOf(body.mimeType);
      const asset = omitUndefined({
        assetId,
        customerId,
        advertiserId,
        ...body,
        mediaKind,
        source: 'uploaded' as const,
        bytesMax: body.bytes ?? bytesMax,
        expiresAt,
      });
      const now = isoTimestamp(writes.clock.now());
      const command = { type: 'ReserveAsset', now, asset } as const;
      const isNew = !(await request.hasRunBefore());
      const outcome = await executeOnAsset(writes, assetId, command, { ...ofRequest(request), isNew });
      if (outcome.outcome === 'refused' || outcome.state.status !== 'RESERVED') {
        throw new Error(`an asset with a new id exists already: ${assetId}`);
      }
      return { status: 201, data: await reservationOf(writes, outcome.state) };
    },
  });

const tooLarge = (mimeType: string, bytesMax: number): ApiError =>
  new ApiError({
    code: 'VALIDATION_ERROR',
    message: `Uploads of ${mimeType} may have at most ${bytesMax} bytes. Upload a smaller one.`,
    field: 'bytes',
    details: { maxBytes: bytesMax },
  });

/** The database's clock decides about token expiry, so all nodes agree. */
const databaseTime = async ({ pool }: AssetWrites): Promise<number> => {
  const { rows } = await pool.query<{ now: Date }>({
    name: 'database-time',
    text: 'select clock_timestamp() as now',
    values: [],
  });
  const [row] = rows;
  if (row === undefined) throw new Error('the database has no time');
  return row.now.getTime();
};

const reservationOf = async (
  { tokens, baseUrl }: AssetWrites,
  { assetId, customerId, advertiserId, mimeType, bytesMax, expiresAt }: ReservedAsset,
): Promise<z.infer<typeof Reservation>> => {
  const uploadId = shownUploadId(assetId);
  const token = await tokens.issue({
    uploadId,
    customerId,
    advertiserId,
    maxBytes: bytesMax,
    mimeType,
    exp: Math.floor(Date.parse(expiresAt) / 1_000),
  });
  return {
    uploadId,
    assetId: shownAssetId(assetId),
    uploadUrl: `${baseUrl()}/api/v2/buyer/assets/uploads/${uploadId}?token=${token}`,
    method: 'PUT',
    headers: { 'Content-Type': 'application/octet-stream' },
    maxBytes: bytesMax,
    expiresAt,
  };
};
