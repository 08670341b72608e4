import { catalogFold, type CatalogState } from '../domain/catalogs/catalog.ts';
import type { Catalog } from '../domain/catalogs/resource.ts';
import { foldedReadModel } from './folded-read-model.ts';
import { syncedResourceColumns } from './synced-resource-columns.ts';

export const catalogsProjection = foldedReadModel<CatalogState, Catalog>({
  ...catalogFold,
  name: 'catalogs',
  table: 'catalogs',
  live: (state) => (state.status === 'NONE' ? undefined : state),
  place: ({ customerId, catalogId }) => ({ customerId, id: catalogId }),
  columns: syncedResourceColumns,
});
