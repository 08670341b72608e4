import { z } from 'zod';
import type { AssetReserved, AssetUploaded } from './asset-events.ts';
import { AssetSource, MediaKind } from './asset-values-resource.ts';
import { Timestamp } from '../values.ts';

interface Timestamps {
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface ReservedAsset extends AssetReserved, Timestamps {
  readonly status: 'RESERVED' | 'EXPIRED';
}

export interface StoredAsset extends AssetReserved, AssetUploaded, Timestamps {
  readonly bytes: number;
  readonly sha256: string;
  readonly status: 'READY' | 'REMOVED';
}

export type Asset = ReservedAsset | StoredAsset;

const size = z.int().min(0);

/** A library asset as the API shows it (specification, Library asset; decisions.md section 6). */
export const AssetResource = z
  .strictObject({
    id: z.string(),
    advertiserId: z.int(),
    name: z.string(),
    mediaKind: MediaKind,
    mimeType: z.string(),
    url: z.string(),
    storageKey: z.string(),
    width: size.optional(),
    height: size.optional(),
    durationMs: size.optional(),
    bytes: size,
    source: AssetSource,
    textContent: z.string().optional(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'LibraryAsset' });

export type AssetResource = z.infer<typeof AssetResource>;

/** @param baseUrl the service's public URL */
export const assetResource = (asset: StoredAsset, baseUrl: string): AssetResource => ({
  id: shownAssetId(asset.assetId),
  advertiserId: asset.advertiserId,
  name: asset.name,
  mediaKind: asset.mediaKind,
  mimeType: asset.mimeType,
  url: `${baseUrl}${ASSETS_PATH}/${asset.storageKey}`,
  storageKey: asset.storageKey,
  ...(asset.width === undefined ? {} : { width: asset.width }),
  ...(asset.height === undefined ? {} : { height: asset.height }),
  ...(asset.durationMs === undefined ? {} : { durationMs: asset.durationMs }),
  bytes: asset.bytes,
  source: asset.source,
  ...(asset.textContent === undefined ? {} : { textContent: asset.textContent }),
  createdAt: asset.createdAt,
  updatedAt: asset.updatedAt,
});

/** Public path of the assets' bytes: no credential is needed. */
export const ASSETS_PATH = '/assets';

export const shownAssetId = (assetId: string): string => `ast_${assetId.replaceAll('-', '')}`;

export const shownUploadId = (assetId: string): string => `upl_${assetId.replaceAll('-', '')}`;

const SHOWN = /^(ast|upl)_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;

/** @returns the asset's UUID; undefined if the text is not an asset id */
export const assetIdOf = (shown: string): string | undefined => uuidOf(shown, 'ast');

/** @returns the asset's UUID; undefined if the text is not an upload id */
export const assetIdOfUpload = (shown: string): string | undefined => uuidOf(shown, 'upl');

const uuidOf = (shown: string, wanted: string): string | undefined => {
  const [, prefix, ...parts] = SHOWN.exec(shown) ?? [];
  return prefix === wanted ? parts.join('-') : undefined;
};
