import {
  catalogResource,
  type Catalog,
  type CatalogResource,
  type CatalogType,
} from '../../domain/catalogs/resource.ts';
import type { Filter, Page } from '../resources/list-page.ts';
import { listResources, type ResourceOwner } from '../resources/list-resources.ts';
import type { ResourceReads, ResourceTable } from '../resources/resource-reads.ts';

export const catalogsTable: ResourceTable = { readModel: 'catalogs', table: 'catalogs' };

const ofType = (type: CatalogType): Filter => ({
  name: 'type',
  value: type,
  rows: (query) => query.whereRaw(`body::jsonb -> 'definition' ->> 'type' = ?`, 'type'),
});

/** Undefined if the advertiser does not exist. @throws ReadModelBehindError */
export const listCatalogs = async (
  reads: ResourceReads,
  owner: ResourceOwner,
  page: Page,
  type: CatalogType | undefined,
): Promise<{ readonly catalogs: readonly CatalogResource[]; readonly total: number } | undefined> => {
  const filters = type === undefined ? [] : [ofType(type)];
  const found = await listResources<Catalog>(reads, catalogsTable, owner, page, filters);
  return found && { catalogs: found.items.map(catalogResource), total: found.total };
};
