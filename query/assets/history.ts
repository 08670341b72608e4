import { z } from 'zod';
import {
  assetIdOf,
  assetResource,
  shownAssetId,
  type Asset,
  type StoredAsset,
} from '../../domain/assets/resource.ts';
import { assetFold, assetStream } from '../../domain/assets/asset.ts';
import { assetList, assetRead } from './routes.ts';
import { auditedKind, type AuditedKind } from '../resources/audited-kind.ts';
import { pathTextId } from '../../shared/http/schemas.ts';
import {
  buyer,
  advertiserId,
  byShownId,
  lastFirst,
  listedOfAdvertiser,
  streamsByShownId,
  ofAdvertiser,
} from '../resources/resource-paths.ts';

const assetMembers = ({ assetId, customerId: _customer, ...rest }: Asset) => ({
  id: shownAssetId(assetId),
  ...rest,
});

export const isInLibrary = (asset: Asset): asset is StoredAsset => asset.status === 'READY';

export const assetKind = (baseUrl: () => string): AuditedKind =>
  auditedKind({
    ...assetFold,
    resourceType: 'ASSET',
    noun: 'asset',
    live: (state) => (state.status === 'NONE' ? undefined : state),
    idOf: ({ assetId }) => shownAssetId(assetId),
    streamsOf: streamsByShownId(assetIdOf, assetStream),
    audited: assetMembers,
    nameOf: ({ name }) => name,
    place: {
      path: `${buyer}/advertisers/{id}/assets/{assetId}`,
      params: z.object({ id: advertiserId, assetId: pathTextId('asset') }),
      tag: 'Assets',
      find: byShownId('assetId', assetIdOf, assetStream),
      isAt: ofAdvertiser,
    },
    details: [
      {
        route: assetRead,
        shown: (asset, asked) =>
          isInLibrary(asset) && ofAdvertiser(asset, asked) ? assetResource(asset, baseUrl()) : undefined,
      },
    ],
    lists: [
      {
        route: assetList,
        owner: listedOfAdvertiser,
        shown: (page) => page.filter(isInLibrary).map((asset) => assetResource(asset, baseUrl())),
        keeps: isInLibrary,
        order: lastFirst(
          ({ createdAt }) => createdAt,
          ({ assetId }) => assetId,
        ),
      },
    ],
  });
