import { loadAsset } from '../command/assets/asset-writes.ts';
import type { AssetLibrary } from '../command/creatives/asset-library.ts';
import {
  assetIdOf,
  assetResource,
  type AssetResource,
  type StoredAsset,
} from '../domain/assets/asset-resource.ts';
import { findAssets, readyAssetsSql } from '../query/assets/find-assets.ts';
import { ASSETS, type AssetReads } from '../query/assets/list-assets.ts';
import type { ShownAssets } from '../query/creatives/get-detail.ts';
import type { EventStore } from '../shared/event-store/event-store.ts';

interface Parts extends AssetReads {
  readonly store: EventStore;
  /** How clients reach the service. */
  readonly baseUrl: () => string;
}

/** What creatives know of the assets in a library: here, and in `shownAssets`, the two are brought together. */
export const assetLibrary = (parts: Pick<Parts, 'store'>): AssetLibrary => ({
  readyAssets: async (customerId, advertiserId, shownIds) => {
    const ready = await Promise.all(
      shownIds.map(async (shownId) => {
        const assetId = assetIdOf(shownId);
        if (assetId === undefined) return [];
        const { state: asset } = await loadAsset(parts, customerId, assetId);
        return asset.status === 'READY' && asset.advertiserId === advertiserId ? [shownId] : [];
      }),
    );
    return new Set(ready.flat());
  },
});

/** Those of the assets that are in the library, as their streams say, in the order asked for. */
export const foldedAssets =
  ({ store, baseUrl }: Pick<Parts, 'store' | 'baseUrl'>) =>
  async (customerId: number, shownIds: readonly string[]): Promise<readonly AssetResource[]> => {
    const assets = await Promise.all(
      shownIds.map(async (shownId) => {
        const assetId = assetIdOf(shownId);
        return assetId === undefined ? undefined : (await loadAsset({ store }, customerId, assetId)).state;
      }),
    );
    return assets.flatMap((asset) => (asset?.status === 'READY' ? [assetResource(asset, baseUrl())] : []));
  };

/** What a creative's detail shows of them. */
export const shownAssets = (parts: Omit<Parts, 'store'>): ShownAssets => {
  const shown = (asset: StoredAsset) => assetResource(asset, parts.baseUrl());
  return {
    readModel: ASSETS,
    sql: readyAssetsSql,
    read: (found) => (JSON.parse(found) as readonly StoredAsset[]).map(shown),
    find: async (customerId, shownIds, waitMs) =>
      (await findAssets(parts, customerId, shownIds, waitMs)).map(shown),
  };
};
