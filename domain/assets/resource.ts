import { z } from 'zod';
import { derived, fixed, found, membersOf, resourceShape } from '../fields.ts';
import { shownIds } from '../shown-id.ts';
import { Timestamp } from '../values.ts';

/** Decisions.md E8. */
export const MediaKind = z.enum(['image', 'video', 'audio', 'html', 'text', 'document', 'other']);
export const AssetSource = z.enum(['uploaded', 'generated', 'connected']);

const size = z.int().min(0);

/** Specification, Library asset. */
export const assetFields = {
  id: derived(z.string()),
  advertiserId: fixed(z.int()),
  name: fixed(z.string()),
  mediaKind: fixed(MediaKind),
  mimeType: fixed(z.string()),
  url: derived(z.string()),
  // Unique: no other asset refers to the same object.
  storageKey: fixed(z.string()),
  // From the bytes; for types whose bytes do not contain the measures, from the buyer. Pixels and milliseconds.
  width: found(size, z.int()),
  height: found(size, z.int()),
  durationMs: found(size, z.int()),
  bytes: fixed(size, { recorded: z.int() }),
  source: fixed(AssetSource),
  // The whole content of a short plain text.
  textContent: found(z.string()),
  createdAt: derived(Timestamp),
  updatedAt: derived(Timestamp),
};

export const AssetResource = z.strictObject(resourceShape(assetFields)).meta({ id: 'LibraryAsset' });
export type AssetResource = z.infer<typeof AssetResource>;

type UploadMember = 'storageKey' | 'bytes' | 'textContent';

interface Reservation extends Omit<AssetResource, 'id' | 'url' | UploadMember> {
  readonly assetId: string;
  readonly customerId: number;
  readonly bytesMax: number;
  readonly expiresAt: string;
}

export interface ReservedAsset extends Reservation {
  readonly bytes?: number | undefined;
  readonly sha256?: string | undefined;
  readonly status: 'RESERVED' | 'EXPIRED';
}

export interface StoredAsset extends Reservation, Pick<AssetResource, UploadMember> {
  readonly sha256: string;
  readonly status: 'READY' | 'REMOVED';
}

export type Asset = ReservedAsset | StoredAsset;

export const assetResource = (asset: StoredAsset, baseUrl: string): AssetResource =>
  membersOf(AssetResource, {
    ...asset,
    id: shownAssetId(asset.assetId),
    url: `${baseUrl}${ASSETS_PATH}/${asset.storageKey}`,
  });

export const UploadReservation = z
  .strictObject({
    uploadId: z.string(),
    assetId: z.string(),
    uploadUrl: z.string().meta({ description: 'Anyone with this address may upload: keep it secret.' }),
    method: z.literal('PUT'),
    headers: z.strictObject({ 'Content-Type': z.literal('application/octet-stream') }),
    maxBytes: z.int(),
    expiresAt: Timestamp,
  })
  .meta({ id: 'UploadReservation' });
export type UploadReservation = z.infer<typeof UploadReservation>;

/** No credential is needed. */
export const ASSETS_PATH = '/assets';

const assetIds = shownIds('ast_');
export const shownAssetId = assetIds.shown;
export const assetIdOf = assetIds.idOf;

/** An upload has the UUID of its asset. */
const uploadIds = shownIds('upl_');
export const shownUploadId = uploadIds.shown;
export const assetIdOfUpload = uploadIds.idOf;
