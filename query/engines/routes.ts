import { z } from 'zod';
import {
  engineConnectionResource,
  EngineConnectionResource,
  mappedAdvertisers,
} from '../../domain/engines/resource.ts';
import {
  creativeEngineOf,
  CreativeEngineResource,
  creativeEngines,
} from '../../domain/engines/creative-engines.ts';
import {
  ENGINE_CONNECTION,
  engineConnectionFold,
  WHOLE_ACCOUNT,
} from '../../domain/engines/engine-connection.ts';
import { notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Pagination, type Route } from '../../shared/http/route.ts';
import { pageOf, pagingParameters, pathIntegerId, queryOffset } from '../../shared/http/schemas.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import { stateReader, type RowReads } from '../resources/read-row.ts';
import { findAdvertiserNames } from './find-advertiser-names.ts';

const path = '/api/v2/buyer/creative-engines';
const tag = 'Creatives';
const TAKE_MAX = 200;
const params = z.object({ id: pathIntegerId('engine') });

export const engineReadRoutes = (reads: RowReads): readonly Route[] => [
  listEnginesRoute,
  engineRoute,
  listConnectionsRoute(reads),
];

const listEnginesRoute: Route = route({
  method: 'get',
  path,
  operationId: 'listCreativeEngines',
  summary: 'The creative engines that can be connected',
  tag,
  access: 'exchange:read',
  query: z.object(pagingParameters(TAKE_MAX)),
  responses: { 200: { description: 'One page', data: z.array(CreativeEngineResource), paginated: true } },
  handle: async ({ query }) => ({ status: 200, ...pageIn(creativeEngines, pageOf(query)) }),
});

const engineRoute: Route = route({
  method: 'get',
  path: `${path}/{id}`,
  operationId: 'getCreativeEngine',
  summary: 'One creative engine',
  tag,
  access: 'exchange:read',
  params,
  responses: { 200: { description: 'The engine', data: CreativeEngineResource } },
  handle: async ({ params: { id } }) => {
    const data = creativeEngineOf(id);
    if (data === undefined) throw notFound('engine');
    return { status: 200, data };
  },
});

export const engineConnectionList = declaration({
  method: 'get',
  path: `${path}/{id}/connections`,
  operationId: 'listCreativeEngineConnections',
  summary: "The account's live connections to an engine: one, or none",
  tag,
  access: 'exchange:read',
  params,
  query: z.object({
    ...pagingParameters(TAKE_MAX),
    accountsOffset: queryOffset('Accounts'),
    mappingsOffset: queryOffset('Mappings'),
  }),
});

export const slotIdOf = (customerId: number, engineId: number): string =>
  resourceIdOf(ENGINE_CONNECTION, customerId, WHOLE_ACCOUNT, String(engineId));

const connectionRows = {
  ...engineConnectionFold,
  readModel: 'engine-connections',
  table: 'engine_connections',
};

const listConnectionsRoute = (reads: RowReads): Route => {
  const readConnection = stateReader(reads, connectionRows);
  return route({
    ...engineConnectionList,
    responses: {
      200: { description: 'One page', data: z.array(EngineConnectionResource), paginated: true },
    },
    handle: async ({ params: { id }, query, request }) => {
      if (creativeEngineOf(id) === undefined) throw notFound('engine');
      const { accountsOffset = 0, mappingsOffset = 0 } = query;
      const offsets = { accountsOffset, mappingsOffset };
      const { customerId } = request.principal;
      const connection = await readConnection(customerId, slotIdOf(customerId, id));
      const live = connection?.status === 'connected' ? [connection] : [];
      const { data, pagination } = pageIn(live, pageOf(query));
      const shown = data.map(async (one) => {
        const advertisers = mappedAdvertisers(one, offsets);
        const names = await findAdvertiserNames(reads, customerId, advertisers).catch(refuseIfBehind);
        return engineConnectionResource(one, names, offsets);
      });
      return { status: 200, data: await Promise.all(shown), pagination };
    },
  });
};

const pageIn = <Item>(
  items: readonly Item[],
  { skip, take }: { readonly skip: number; readonly take: number },
): { readonly data: readonly Item[]; readonly pagination: Pagination } => {
  const data = items.slice(skip, skip + take);
  const total = items.length;
  return { data, pagination: { skip, take, total, hasMore: skip + data.length < total } };
};
