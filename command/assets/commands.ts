import type { ReserveUploadBody } from '../../domain/assets/input.ts';
import {
  assetIdOf,
  shownAssetId,
  shownUploadId,
  type ReservedAsset,
  type UploadReservation,
} from '../../domain/assets/resource.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { ofRequest } from '../../shared/aggregate/handler-for.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import { ApiError, conflict, notFound } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { mediaTypeOf } from '../../shared/storage/media-types.ts';
import { objectKeyOf } from '../../shared/storage/object-store.ts';
import { writableAdvertiser } from '../advertisers/handler.ts';
import { executeOnAsset, loadAsset, type AssetWrites } from './handler.ts';
import type { ObjectAttempts } from './object-attempts.ts';

const TOKEN_MINUTES = 15;

/** @throws ApiError VALIDATION_ERROR (too large), NOT_FOUND (advertiser), CONFLICT (advertiser archived) */
export const reserveUpload = async (
  writes: AssetWrites,
  advertiserId: number,
  body: ReserveUploadBody,
  request: RequestContext,
): Promise<UploadReservation> => {
  const { customerId } = request.principal;
  const bytesMax = writes.bytesMax(body.mimeType);
  if ((body.bytes ?? 0) > bytesMax) throw tooLarge(body.mimeType, bytesMax);
  await writableAdvertiser(writes, customerId, advertiserId);
  const assetId = derivedId(request.commandId, 'asset');
  const expiresAt = isoTimestamp((await databaseTime(writes)) + TOKEN_MINUTES * 60_000);
  const asset = omitUndefined({
    assetId,
    customerId,
    advertiserId,
    ...body,
    mediaKind: mediaTypeOf(body.mimeType).kind,
    source: 'uploaded' as const,
    bytesMax: body.bytes ?? bytesMax,
    expiresAt,
  });
  const command = { type: 'ReserveAsset', now: isoTimestamp(writes.clock.now()), asset } as const;
  const isNew = !(await request.hasRunBefore());
  const outcome = await executeOnAsset(writes, assetId, command, { ...ofRequest(request), isNew });
  if (outcome.outcome === 'refused' || outcome.state.status !== 'RESERVED') {
    throw new Error(`an asset with a new id exists already: ${assetId}`);
  }
  return reservationOf(writes, outcome.state);
};

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
  { assetId, customerId, advertiserId, mimeType, bytesMax: maxBytes, expiresAt }: ReservedAsset,
): Promise<UploadReservation> => {
  const uploadId = shownUploadId(assetId);
  const exp = Math.floor(Date.parse(expiresAt) / 1_000);
  const token = await tokens.issue({ uploadId, customerId, advertiserId, maxBytes, mimeType, exp });
  return {
    uploadId,
    assetId: shownAssetId(assetId),
    uploadUrl: `${baseUrl()}/api/v2/buyer/assets/uploads/${uploadId}?token=${token}`,
    method: 'PUT',
    headers: { 'Content-Type': 'application/octet-stream' },
    maxBytes,
    expiresAt,
  };
};

/** @throws ApiError NOT_FOUND, CONFLICT while a live creative uses the asset */
export const removeAsset = async (
  writes: AssetWrites,
  attempts: ObjectAttempts,
  { id: advertiserId, assetId: shownId }: { readonly id: number; readonly assetId: string },
  request: RequestContext,
): Promise<void> => {
  const { customerId } = request.principal;
  const assetId = assetIdOf(shownId);
  if (assetId === undefined) throw notFound('asset');
  const { state: asset } = await loadAsset(writes, customerId, assetId);
  const isHere = asset.status !== 'NONE' && asset.advertiserId === advertiserId;
  if (!isHere || !('storageKey' in asset)) throw notFound('asset');
  const object = objectKeyOf(asset.storageKey);
  if (object === undefined) throw new Error(`asset ${assetId} has no object key`);
  if (asset.status === 'READY') {
    if (await writes.isInUse(customerId, assetId)) {
      throw conflict(
        'A live creative uses this asset. Take it out of the creative, or archive that, then repeat.',
      );
    }
    // Recorded before the event, so that the sweep deletes the bytes after a crash.
    await attempts.begin({ customerId, assetId, storageKey: object });
  }
  const command = { type: 'RemoveAsset', now: isoTimestamp(writes.clock.now()) } as const;
  const outcome = await executeOnAsset(writes, assetId, command, ofRequest(request));
  if (outcome.outcome === 'refused') throw notFound('asset');
  await writes.objects.remove(object);
  await attempts.end(object);
};
