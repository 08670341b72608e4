import { z } from 'zod';
import { SyncEventSourcesBody } from '../../domain/event-sources/input.ts';
import { SyncEventSourcesResult } from '../../domain/event-sources/resource.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { pathIntegerId } from '../../shared/http/schemas.ts';
import type { SyncWrites } from '../resource-syncs/commands.ts';
import { syncEventSources } from './commands.ts';

export const eventSourceWriteRoutes = (writes: SyncWrites): readonly Route[] => [
  route({
    method: 'post',
    path: '/api/v2/buyer/advertisers/{id}/event-sources/sync',
    operationId: 'syncEventSources',
    description:
      'Declares the whole state of each event source that it names: a value that is left out gets ' +
      'its default. An invalid item fails with its reason, and the others are done.',
    summary: 'Create, replace, restore and (with delete_missing) delete 1 to 50 event sources',
    tag: 'Event Sources',
    access: 'exchange:write',
    params: z.object({ id: pathIntegerId('advertiser') }),
    body: SyncEventSourcesBody,
    responses: { 200: { description: 'The result for each', data: SyncEventSourcesResult } },
    handle: async ({ params: { id }, body, request }) => ({
      status: 200,
      data: { event_sources: await syncEventSources(writes, id, body, request) },
    }),
  }),
];
