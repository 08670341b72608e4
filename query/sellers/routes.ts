import { z } from 'zod';
import { sellerResource, SellerResource } from '../../domain/sellers/resource.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { pageOf, pagingParameters } from '../../shared/http/schemas.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import { readDirectory, type SellerReads } from './list.ts';

export const sellerReadRoutes = (reads: SellerReads): readonly Route[] => [
  route({
    method: 'get',
    path: '/api/v2/buyer/sellers',
    operationId: 'listSellers',
    summary: 'The sellers that creatives can be submitted to, by their ids',
    tag: 'Storefronts',
    access: 'exchange:read',
    query: z.object(pagingParameters(200)),
    responses: { 200: { description: 'One page', data: z.array(SellerResource), paginated: true } },
    handle: async ({ query, request }) => {
      const { skip, take } = pageOf(query);
      const directory = await readDirectory(reads, request.principal.customerId).catch(refuseIfBehind);
      const sellers = directory.filter(({ retired }) => !retired);
      const data = sellers.slice(skip, skip + take).map(sellerResource);
      const pagination = { skip, take, total: sellers.length, hasMore: skip + data.length < sellers.length };
      return { status: 200, data, pagination };
    },
  }),
];
