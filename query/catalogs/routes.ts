import { z } from 'zod';
import { CatalogResource, CatalogType } from '../../domain/catalogs/resource.ts';
import { declaration, type Route } from '../../shared/http/route.ts';
import { pagingParameters, pathIntegerId } from '../../shared/http/schemas.ts';
import { listResourcesRoute } from '../resources/list-resources.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';
import { listCatalogs } from './list.ts';

export const catalogReadRoutes = (reads: ResourceReads): readonly Route[] => [
  listResourcesRoute(catalogList, CatalogList, (owner, page, { type }) =>
    listCatalogs(reads, owner, page, type),
  ),
];

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
