import { z } from 'zod';
import {
  assetIdOf,
  assetResource,
  AssetResource,
  AssetSource,
  MediaKind,
} from '../../domain/assets/resource.ts';
import { notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Route } from '../../shared/http/route.ts';
import { boundedText } from '../../domain/values.ts';
import { pageOf, pagingParameters, pathIntegerId } from '../../shared/http/schemas.ts';
import type { ObjectStore } from '../../shared/storage/object-store.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import { getAsset, listAssets, type AssetReads } from './list.ts';
import { serveRoute } from './serve-route.ts';

export interface LibraryReads extends AssetReads {
  readonly objects: ObjectStore;
  readonly baseUrl: () => string;
}

const path = '/api/v2/buyer/advertisers/{id}/assets';
const tag = 'Assets';
const id = pathIntegerId('advertiser');

export const assetReadRoutes = (reads: LibraryReads): readonly Route[] => [
  listRoute(reads),
  detailRoute(reads),
  serveRoute(reads.objects),
];

export const assetList = declaration({
  method: 'get',
  path,
  operationId: 'listAssets',
  summary: "The assets of an advertiser's library, newest first",
  tag,
  access: 'exchange:read',
  params: z.object({ id }),
  query: z.object({
    mediaKind: MediaKind.optional(),
    source: AssetSource.optional(),
    search: boundedText(1, 255).optional().meta({ description: 'Part of the name; case does not count.' }),
    ...pagingParameters(200),
  }),
});

const listRoute = (reads: LibraryReads): Route =>
  route({
    ...assetList,
    responses: { 200: { description: 'One page', data: z.array(AssetResource), paginated: true } },
    handle: async ({ params, query, request }) => {
      const { mediaKind, source, search } = query;
      const { skip, take } = pageOf(query);
      const { customerId } = request.principal;
      const filters = { mediaKind, source, search };
      const page = await listAssets(reads, customerId, params.id, filters, { skip, take }).catch(
        refuseIfBehind,
      );
      if (page === undefined) throw notFound('advertiser');
      const { assets, total } = page;
      return {
        status: 200,
        data: assets.map((asset) => assetResource(asset, reads.baseUrl())),
        pagination: { skip, take, total, hasMore: skip + assets.length < total },
      };
    },
  });

export const assetRead = declaration({
  method: 'get',
  path: `${path}/{assetId}`,
  operationId: 'getAsset',
  summary: 'One asset of a library',
  tag,
  access: 'exchange:read',
  params: z.object({
    id,
    assetId: boundedText(1, 100).meta({ description: 'Id of the asset.' }),
  }),
});

const detailRoute = (reads: LibraryReads): Route =>
  route({
    ...assetRead,
    responses: { 200: { description: 'The asset', data: AssetResource } },
    handle: async ({ params, request: { principal } }) => {
      const assetId = assetIdOf(params.assetId);
      if (assetId === undefined) throw notFound('asset');
      const asset = await getAsset(reads, principal.customerId, params.id, assetId).catch(refuseIfBehind);
      if (asset === undefined) throw notFound('asset');
      return { status: 200, data: assetResource(asset, reads.baseUrl()) };
    },
  });
