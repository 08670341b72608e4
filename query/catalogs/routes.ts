import { z } from 'zod';
import {
  catalogResource,
  CatalogResource,
  CatalogType,
  type Catalog,
} from '../../domain/catalogs/catalog-resource.ts';
import { notFound } from '../../shared/http/errors.ts';
import { declaration, route, type Route } from '../../shared/http/route.ts';
import { pageOf, pagingParameters, pathIntegerId } from '../../shared/http/schemas.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import type { Filter } from '../resources/list-page.ts';
import { listResources } from '../resources/list-resources.ts';
import type { ResourceReads, ResourceTable } from '../resources/resource-reads.ts';

export const catalogsTable: ResourceTable = { readModel: 'catalogs', table: 'catalogs' };

const CatalogList = z
  .strictObject({ catalogs: z.array(CatalogResource), total: z.int() })
  .meta({ id: 'CatalogList' });

export const catalogList = declaration({
  method: 'get',
  path: '/api/v2/buyer/advertisers/{id}/catalogs',
  operationId: 'listCatalogs',
  summary: "An advertiser's catalogs, newest first",
  tag: 'Catalogs',
  access: 'exchange:read',
  params: z.object({ id: pathIntegerId('advertiser') }),
  query: z.object({ type: CatalogType.optional(), ...pagingParameters(200) }),
});

export const catalogReadRoutes = (reads: ResourceReads): readonly Route[] => [
  route({
    ...catalogList,
    responses: { 200: { description: 'One page, and how many there are', data: CatalogList } },
    handle: async ({ params: { id }, query, request }) => {
      const owner = { customerId: request.principal.customerId, advertiserId: id };
      const filters = query.type === undefined ? [] : [ofType(query.type)];
      const page = await listResources<Catalog>(reads, catalogsTable, owner, pageOf(query), filters).catch(
        refuseIfBehind,
      );
      if (page === undefined) throw notFound('advertiser');
      return { status: 200, data: { catalogs: page.items.map(catalogResource), total: page.total } };
    },
  }),
];

const ofType = (type: string): Filter => ({
  name: 'type',
  value: type,
  rows: (query) => query.whereRaw(`body::jsonb -> 'definition' ->> 'type' = ?`, 'type'),
});
