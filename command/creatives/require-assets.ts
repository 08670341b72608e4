import { assetIdsOf, type Creative } from '../../domain/creatives/resource.ts';
import type { CommandStores } from '../../shared/aggregate/handler-for.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import { assetIdOf } from '../../domain/assets/resource.ts';
import { loadAsset } from '../assets/handler.ts';

/** @throws ApiError NOT_FOUND with the path of the first asset that is not ready */
export const requireAssets = async (
  stores: CommandStores,
  customerId: number,
  advertiserId: number,
  content: { readonly [Member in 'slots' | 'carouselCards']?: Creative[Member] | undefined },
): Promise<void> => {
  const { slots = [], carouselCards = [] } = content;
  const assetIds = assetIdsOf({ slots, carouselCards });
  if (assetIds.length === 0) return;
  const ready = await Promise.all(
    assetIds.map((assetId) => isReady(stores, customerId, advertiserId, assetId)),
  );
  const missing = new Set(assetIds.filter((_, n) => ready[n] !== true));
  const isMissing = ({ assetId }: { assetId?: string | undefined }): boolean =>
    assetId !== undefined && missing.has(assetId);
  for (const [member, items] of Object.entries({ slots, carouselCards })) {
    const at = items.findIndex(isMissing);
    if (at < 0) continue;
    throw new ApiError({
      ...notFound("asset in the advertiser's library").body,
      field: `${member}.${at}.assetId`,
    });
  }
};

const isReady = async (
  stores: CommandStores,
  customerId: number,
  advertiserId: number,
  shownId: string,
): Promise<boolean> => {
  const assetId = assetIdOf(shownId);
  if (assetId === undefined) return false;
  const { state: asset } = await loadAsset(stores, customerId, assetId);
  return asset.status === 'READY' && asset.advertiserId === advertiserId;
};
