import { loadAsset } from './command/assets/asset-writes.ts';
import type { AssetLibrary } from './command/creatives/asset-library.ts';
import { assetIdOf, assetResource } from './domain/assets/asset-resource.ts';
import { findAssets } from './query/assets/find-assets.ts';
import type { AssetReads } from './query/assets/list-assets.ts';
import type { DetailReads } from './query/creatives/get-detail.ts';
import type { EventStore } from './shared/event-store/event-store.ts';

interface Parts extends AssetReads {
  readonly store: EventStore;
  /** How clients reach the service. */
  readonly baseUrl: () => string;
}

/** What creatives know of the assets in a library: the one place where the two are brought together. */
export const assetLibrary = (parts: Parts): AssetLibrary & Pick<DetailReads, 'findAssets'> => ({
  readyAssets: async (customerId, advertiserId, shownIds) => {
    const ready = await Promise.all(
      shownIds.map(async (shownId) => {
        const assetId = assetIdOf(shownId);
        if (assetId === undefined) return [];
        const asset = await loadAsset(parts.store, customerId, assetId);
        return asset.status === 'READY' && asset.advertiserId === advertiserId ? [shownId] : [];
      }),
    );
    return new Set(ready.flat());
  },
  findAssets: async (customerId, shownIds) => {
    const assetIds = shownIds.map(assetIdOf).filter((assetId) => assetId !== undefined);
    const assets = await findAssets(parts, customerId, assetIds);
    return assets.map((asset) => assetResource(asset, parts.baseUrl()));
  },
});
