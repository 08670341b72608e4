import { z } from 'zod';
import {
  engineConnectionResource,
  EngineConnectionResource,
  mappedAdvertisers,
  type EngineConnection,
} from '../../domain/engines/engine-connection-resource.ts';
import {
  creativeEngineOf,
  CreativeEngineResource,
  creativeEngines,
} from '../../domain/engines/engine-resource.ts';
import { notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Pagination, type Route } from '../../shared/http/route.ts';
import { pageOf, pagingParameters, pathIntegerId, queryOffset } from '../../shared/http/schemas.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import type { ProjectionProgress } from '../../shared/read-your-writes/projection-progress.ts';
import { behind } from '../resources/behind.ts';
import { getRow } from '../resources/get-row.ts';
import { findAdvertiserNames } from './find-advertiser-names.ts';

export interface EngineReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
  /** UUID of an account's place for an engine. */
  readonly slotIdOf: (customerId: number, engineId: number) => string;
  /** The name of the stream of a place. */
  readonly streamOf: (customerId: number, slotId: string) => string;
  /** The live connection in a place, as its stream says; undefined when there is none. */
  readonly foldConnection: (customerId: number, slotId: string) => Promise<EngineConnection | undefined>;
}

const path = '/api/v2/buyer/creative-engines';
const tag = 'Creatives';
const TAKE_MAX = 200;
const params = z.object({ id: pathIntegerId('engine') });

/** The directory of creative engines, and an account's connections to them (decisions.md section 2). */
export const engineReadRoutes = (reads: EngineReads): readonly Route[] => [
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

const listConnectionsRoute = (reads: EngineReads): Route =>
  route({
    ...engineConnectionList,
    responses: {
      200: { description: 'One page', data: z.array(EngineConnectionResource), paginated: true },
    },
    handle: async ({ params: { id }, query, request }) => {
      if (creativeEngineOf(id) === undefined) throw notFound('engine');
      const { accountsOffset = 0, mappingsOffset = 0 } = query;
      const offsets = { accountsOffset, mappingsOffset };
      const { customerId } = request.principal;
      const live = await liveConnection(reads, customerId, id);
      const { data, pagination } = pageIn(live, pageOf(query));
      const shown = data.map(async (connection) => {
        const advertisers = mappedAdvertisers(connection, offsets);
        const names = await findAdvertiserNames(reads, customerId, advertisers).catch(behind);
        return engineConnectionResource(connection, names, offsets);
      });
      return { status: 200, data: await Promise.all(shown), pagination };
    },
  });

/** The page of what is all there at once. */
const pageIn = <Item>(
  items: readonly Item[],
  { skip, take }: { readonly skip: number; readonly take: number },
): { readonly data: readonly Item[]; readonly pagination: Pagination } => {
  const data = items.slice(skip, skip + take);
  const total = items.length;
  return { data, pagination: { skip, take, total, hasMore: skip + data.length < total } };
};

const liveConnection = async (
  { slotIdOf, streamOf, foldConnection, ...reads }: EngineReads,
  customerId: number,
  engineId: number,
): Promise<readonly EngineConnection[]> => {
  const source = {
    readModel: 'engine-connections',
    table: 'engine_connections',
    streamOf,
    fold: foldConnection,
  };
  const connection = await getRow(reads, source, customerId, slotIdOf(customerId, engineId));
  return connection?.status === 'connected' ? [connection] : [];
};
