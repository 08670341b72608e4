import { z } from 'zod';
import { assetIdOf } from '../../domain/assets/asset-resource.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { ofRequest } from '../../shared/aggregate/handler-for.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { boundedText, pathIntegerId } from '../../shared/http/schemas.ts';
import { objectKeyOf } from '../../shared/storage/object-store.ts';
import { executeOnAsset, loadAsset, type AssetWrites } from './asset-writes.ts';
import { createObjectAttempts } from './object-attempts.ts';

export const removeRoute = (writes: AssetWrites): Route => {
  const attempts = createObjectAttempts(writes.pool);
  return route({
    method: 'delete',
    path: '/api/v2/buyer/advertisers/{id}/assets/{assetId}',
    operationId: 'deleteAsset',
    summary: 'Delete an asset and its bytes. Refused while a live creative uses it.',
    tag: 'Assets',
    access: 'exchange:write',
    params: z.object({
      id: pathIntegerId('advertiser'),
      assetId: boundedText(1, 100).meta({ description: 'Id of the asset.' }),
    }),
    responses: { 204: { description: 'Deleted' } },
    handle: async ({ params, request }) => {
      const { customerId } = request.principal;
      const assetId = assetIdOf(params.assetId);
      const asset = assetId === undefined ? undefined : (await loadAsset(writes, customerId, assetId)).state;
      const isHere = asset !== undefined && asset.status !== 'NONE' && asset.advertiserId === params.id;
      if (assetId === undefined || !isHere || !('storageKey' in asset)) throw notFound('asset');
      const object = objectKeyOf(asset.storageKey);
      if (object === undefined) throw new Error(`asset ${assetId} has no object key`);
      if (asset.status === 'READY') {
        if (await writes.isInUse(customerId, assetId)) throw inUse();
        // Recorded before the event, so that the sweep deletes the bytes after a crash.
        await attempts.begin({ customerId, assetId, storageKey: object });
      }
      const command = { type: 'RemoveAsset', now: isoTimestamp(writes.clock.now()) } as const;
      const outcome = await executeOnAsset(writes, assetId, command, ofRequest(request));
      if (outcome.outcome === 'refused') throw notFound('asset');
      await writes.objects.remove(object);
      await attempts.end(object);
      return { status: 204 };
    },
  });
};

const inUse = (): ApiError =>
  new ApiError({
    code: 'CONFLICT',
    message: 'A live creative uses this asset. Take it out of the creative, or archive that, then repeat.',
  });
