import { z } from 'zod';
import { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { advertiserFold } from '../../domain/advertisers/advertiser.ts';
import { notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Route } from '../../shared/http/route.ts';
import { boundedText } from '../../domain/values.ts';
import { pagingParameters, pathIntegerId, queryBoolean } from '../../shared/http/schemas.ts';
import { listRoute } from '../resources/list-route.ts';
import { rowReader, type RowReads } from '../resources/read-row.ts';
import { listAdvertisers } from './list.ts';

const path = '/api/v2/buyer/advertisers';
const tag = 'Advertisers';

export const advertiserPlace = {
  path: `${path}/{id}`,
  params: z.object({ id: pathIntegerId('advertiser') }),
  tag,
};

/** Endpoint 4 of the specification. */
export const advertiserReadRoutes = (reads: RowReads): readonly Route[] => [
  listRoute(advertiserList, AdvertiserResource, (customerId, filters, page) =>
    listAdvertisers(reads, customerId, filters, page),
  ),
  detailRoute(reads),
];

export const advertiserList = declaration({
  method: 'get',
  path,
  operationId: 'listAdvertisers',
  summary: 'List advertisers, newest first',
  tag,
  access: 'exchange:read',
  query: z.object({
    status: z.enum(['ACTIVE', 'ARCHIVED', 'ALL']).optional().meta({ description: 'Default ACTIVE.' }),
    name: boundedText(1, 200).optional().meta({ description: 'Part of the name; case does not count.' }),
    sandbox: queryBoolean('Only sandbox advertisers, or only others.').optional(),
    ...pagingParameters(200),
  }),
});

export const advertiserRead = declaration({
  ...advertiserPlace,
  method: 'get',
  operationId: 'getAdvertiser',
  summary: 'One advertiser, archived ones too',
  access: 'exchange:read',
});

export const advertiserRows = { ...advertiserFold, readModel: 'advertisers', table: 'advertisers' };

const detailRoute = (reads: RowReads): Route => {
  const readAdvertiser = rowReader(reads, advertiserRows, 'int');
  return route({
    ...advertiserRead,
    responses: { 200: { description: 'The advertiser', data: AdvertiserResource } },
    handle: async ({ params: { id }, request }) => {
      const dataJson = await readAdvertiser(request.principal.customerId, id);
      if (dataJson === undefined) throw notFound('advertiser');
      return { status: 200, dataJson };
    },
  });
};
