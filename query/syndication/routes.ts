import { z } from 'zod';
import { agentIdOf } from '../../domain/agents/resource.ts';
import {
  ResourceType,
  syndicationIdOf,
  syndicationResource,
  SyndicationResource,
  SyndicationStatus,
} from '../../domain/syndication/resource.ts';
import { syndicationFold } from '../../domain/syndication/syndication.ts';
import { notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Route } from '../../shared/http/route.ts';
import { boundedText } from '../../domain/values.ts';
import {
  digitStringId,
  pageOf,
  pagingParameters,
  pathTextId,
  queryBoolean,
} from '../../shared/http/schemas.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import { stateReader, type RowReads } from '../resources/read-row.ts';
import { advertiserId as ownerId, buyer } from '../resources/resource-paths.ts';
import { listRecords } from './list.ts';

const tag = 'Syndication';

const StatusList = z
  .strictObject({ items: z.array(SyndicationResource), total: z.int() })
  .meta({ id: 'SyndicationStatusList' });

export const syndicationStatusList = declaration({
  method: 'get',
  path: '/api/v2/buyer/advertisers/{advertiserId}/syndication-status',
  operationId: 'querySyndicationStatus',
  summary: "An advertiser's syndication records, the last changed first",
  tag,
  access: 'exchange:read',
  params: z.object({ advertiserId: digitStringId('advertiser') }),
  query: z.object({
    resourceType: ResourceType.optional(),
    resourceId: boundedText(1, 256).optional(),
    adcpAgentId: boundedText(1, 256).optional(),
    enabled: queryBoolean('Only what is switched on, or only what is switched off.').optional(),
    status: SyndicationStatus.optional(),
    ...pagingParameters(100),
  }),
});

export const syndicationPlace = {
  path: `${buyer}/advertisers/{id}/syndication-status/{recordId}`,
  params: z.object({ id: ownerId, recordId: pathTextId('syndication record') }),
  tag,
};

export const syndicationRead = declaration({
  ...syndicationPlace,
  method: 'get',
  operationId: 'getSyndicationRecord',
  summary: 'One syndication record',
  access: 'exchange:read',
});

export const syndicationReadRoutes = (reads: RowReads): readonly Route[] => [
  detailRoute(reads),
  route({
    ...syndicationStatusList,
    responses: { 200: { description: 'One page, and how many there are', data: StatusList } },
    handle: async ({ params: { advertiserId }, query, request }) => {
      const { adcpAgentId, resourceType, resourceId, enabled, status } = query;
      const agentId = adcpAgentId === undefined ? undefined : (agentIdOf(adcpAgentId) ?? NO_AGENT);
      const filters = { resourceType, resourceId, agentId, enabled, status };
      const { customerId } = request.principal;
      const page = await listRecords(reads, customerId, advertiserId, filters, pageOf(query)).catch(
        refuseIfBehind,
      );
      if (page === undefined) throw notFound('advertiser');
      return { status: 200, data: { items: page.records.map(syndicationResource), total: page.total } };
    },
  }),
];

const detailRoute = (reads: RowReads): Route => {
  const readRecord = stateReader(reads, {
    ...syndicationFold,
    readModel: 'syndication',
    table: 'syndication_records',
  });
  return route({
    ...syndicationRead,
    responses: { 200: { description: 'The record', data: SyndicationResource } },
    handle: async ({ params: { id, recordId }, request }) => {
      const known = syndicationIdOf(recordId);
      const record = known && (await readRecord(request.principal.customerId, known));
      if (!record || record.advertiserId !== id) throw notFound('syndication record');
      return { status: 200, data: syndicationResource(record) };
    },
  });
};

/** For a text that is not an agent id. */
const NO_AGENT = '00000000-0000-0000-0000-000000000000';
