import { catalogResource } from '../../domain/catalogs/resource.ts';
import { z } from 'zod';
import { CATALOG, catalogFold, catalogStream } from '../../domain/catalogs/catalog.ts';
import { catalogsTable } from './list.ts';
import { catalogList } from './routes.ts';
import { auditedKind } from '../resources/audited-kind.ts';
import { pathTextId } from '../../shared/http/schemas.ts';
import {
  buyer,
  advertiserId,
  byKey,
  each,
  lastFirst,
  listedOfAdvertiser,
  streamsByKey,
} from '../resources/resource-paths.ts';

export const catalogKind = auditedKind({
  ...catalogFold,
  resourceType: 'CATALOG',
  noun: 'catalog',
  live: (state) => (state.status === 'NONE' ? undefined : state),
  idOf: ({ key }) => key,
  streamsOf: streamsByKey(CATALOG, catalogStream),
  keyedIn: catalogsTable,
  audited: (catalog) => ({
    ...catalogResource(catalog),
    advertiserId: catalog.advertiserId,
    status: catalog.status,
  }),
  nameOf: ({ definition }) => definition.name,
  place: {
    path: `${buyer}/advertisers/{id}/catalogs/{catalogId}`,
    params: z.object({ id: advertiserId, catalogId: pathTextId('catalog') }),
    tag: 'Catalogs',
    find: byKey('catalogId', CATALOG, catalogStream),
  },
  lists: [
    {
      route: catalogList,
      owner: listedOfAdvertiser,
      shown: each(catalogResource),
      keeps: ({ status }) => status === 'ACTIVE',
      order: lastFirst(
        ({ createdAt }) => createdAt,
        ({ catalogId }) => catalogId,
      ),
      data: ({ items, total }) => ({ catalogs: items, total }),
    },
  ],
});
