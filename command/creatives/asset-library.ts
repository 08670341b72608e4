import { assetIdsOf, type Creative } from '../../domain/creatives/creative-resource.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';

export interface AssetLibrary {
  /** Reads the account's own writes. @param assetIds public ids */
  readonly readyAssets: (
    customerId: number,
    advertiserId: number,
    assetIds: readonly string[],
  ) => Promise<ReadonlySet<string>>;
}

/** @throws ApiError NOT_FOUND with the path of the first asset that is not ready */
export const requireAssets = async (
  library: AssetLibrary,
  customerId: number,
  advertiserId: number,
  content: { readonly [Member in 'slots' | 'carouselCards']?: Creative[Member] | undefined },
): Promise<void> => {
  const { slots = [], carouselCards = [] } = content;
  const assetIds = assetIdsOf({ slots, carouselCards });
  if (assetIds.length === 0) return;
  const ready = await library.readyAssets(customerId, advertiserId, assetIds);
  const isMissing = ({ assetId }: { assetId?: string | undefined }): boolean =>
    assetId !== undefined && !ready.has(assetId);
  for (const [member, items] of Object.entries({ slots, carouselCards })) {
    const at = items.findIndex(isMissing);
    if (at < 0) continue;
    throw new ApiError({
      ...notFound("asset in the advertiser's library").body,
      field: `${member}.${at}.assetId`,
    });
  }
};
