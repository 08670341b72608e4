import { z } from 'zod';
import { ReserveUploadBody } from '../../domain/assets/input.ts';
import { UploadReservation } from '../../domain/assets/resource.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { boundedText } from '../../domain/values.ts';
import { pathIntegerId } from '../../shared/http/schemas.ts';
import { removeAsset, reserveUpload } from './commands.ts';
import type { AssetWrites } from './handler.ts';
import { createObjectAttempts, type ObjectAttempts } from './object-attempts.ts';
import { uploadRoutes } from './upload-routes.ts';

const path = '/api/v2/buyer/advertisers/{id}/assets';
const write = { tag: 'Assets', access: 'exchange:write' } as const;
const id = pathIntegerId('advertiser');

/** Endpoints 12 and 13 of the specification. */
export const assetWriteRoutes = (writes: AssetWrites): readonly Route[] => {
  const attempts = createObjectAttempts(writes.pool);
  return [reserveRoute(writes), ...uploadRoutes(writes, attempts), removeRoute(writes, attempts)];
};

const reserveRoute = (writes: AssetWrites): Route =>
  route({
    ...write,
    method: 'post',
    path: `${path}/uploads`,
    operationId: 'reserveAssetUpload',
    description:
      'Then send the bytes to `uploadUrl` within 15 minutes, without a credential: the address has ' +
      'a token. Bytes of another type than `mimeType`, or more than were announced, are refused.',
    summary: 'Reserve a place for the bytes of an asset, and the address to send them to',
    params: z.object({ id }),
    body: ReserveUploadBody,
    answerIsSecret: true,
    responses: { 201: { description: 'Where to send the bytes, and until when', data: UploadReservation } },
    handle: async ({ params, body, request }) => ({
      status: 201,
      data: await reserveUpload(writes, params.id, body, request),
    }),
  });

const removeRoute = (writes: AssetWrites, attempts: ObjectAttempts): Route =>
  route({
    ...write,
    method: 'delete',
    path: `${path}/{assetId}`,
    operationId: 'deleteAsset',
    summary: 'Delete an asset and its bytes. Refused while a live creative uses it.',
    params: z.object({ id, assetId: boundedText(1, 100).meta({ description: 'Id of the asset.' }) }),
    responses: { 204: { description: 'Deleted' } },
    handle: async ({ params, request }) => {
      await removeAsset(writes, attempts, params, request);
      return { status: 204 };
    },
  });
