import { z } from 'zod';
import { syncCatalogsBody } from '../../domain/catalogs/input.ts';
import { SyncCatalogsResult } from '../../domain/catalogs/resource.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { outboundAddress, pathIntegerId } from '../../shared/http/schemas.ts';
import type { OutboundPolicy } from '../../shared/outbound/outbound-url.ts';
import type { SyncWrites } from '../resource-syncs/commands.ts';
import { syncCatalogs } from './commands.ts';

const BODY_BYTES_MAX = 16 * 1024 * 1024;

export const catalogWriteRoutes = (
  writes: SyncWrites & { readonly outbound: OutboundPolicy },
): readonly Route[] => [
  route({
    method: 'post',
    path: '/api/v2/buyer/advertisers/{id}/catalogs/sync',
    operationId: 'syncCatalogs',
    description:
      'Declares the whole state of each catalog that it names, with its items or the `url` of a ' +
      'feed, which workers read. An invalid item fails with its reason, and the others are done.',
    summary: 'Create, replace, restore and (with delete_missing) delete 1 to 50 catalogs',
    tag: 'Catalogs',
    access: 'exchange:write',
    params: z.object({ id: pathIntegerId('advertiser') }),
    body: syncCatalogsBody(outboundAddress(writes.outbound)),
    bodyBytesMax: BODY_BYTES_MAX,
    responses: { 200: { description: 'The result for each', data: SyncCatalogsResult } },
    handle: async ({ params: { id }, body, request }) => ({
      status: 200,
      data: { catalogs: await syncCatalogs(writes, id, body, request) },
    }),
  }),
];
