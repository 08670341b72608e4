import { z } from 'zod';
import { route, type Route } from '../../shared/http/route.ts';
import { pathIntegerId } from '../../shared/http/schemas.ts';
import type { OutboundPolicy } from '../../shared/outbound/outbound-url.ts';
import type { SyncWrites } from '../resource-syncs/sync-resources.ts';
import { syncCatalogsBody } from './catalog-input.ts';
import { syncCatalogs } from './sync-catalogs.ts';

/** Enough for inline items of many catalogs. */
const BODY_BYTES_MAX = 16 * 1024 * 1024;

const SyncCatalogsResult = z
  .strictObject({
    catalogs: z.array(
      z.strictObject({
        catalog_id: z.string(),
        action: z.enum(['created', 'updated', 'unchanged', 'deleted', 'failed']),
        item_count: z.int().optional(),
        version: z.int().optional(),
        errors: z.array(z.strictObject({ code: z.string(), message: z.string() })).optional(),
      }),
    ),
  })
  .meta({ id: 'SyncCatalogsResult' });

export const catalogWriteRoutes = (
  writes: SyncWrites & { readonly outbound: OutboundPolicy },
): readonly Route[] => [
  route({
    method: 'post',
    path: '/api/v2/buyer/advertisers/{id}/catalogs/sync',
    operationId: 'syncCatalogs',
    summary: 'Create, replace, restore and (with delete_missing) delete 1 to 50 catalogs',
    tag: 'Catalogs',
    access: 'exchange:write',
    params: z.object({ id: pathIntegerId('advertiser') }),
    body: syncCatalogsBody(writes.outbound),
    bodyBytesMax: BODY_BYTES_MAX,
    responses: { 200: { description: 'The result for each', data: SyncCatalogsResult } },
    handle: async ({ params: { id }, body, request }) => ({
      status: 200,
      data: { catalogs: await syncCatalogs(writes, id, body, request) },
    }),
  }),
];
