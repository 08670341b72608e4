import { catalogEvents, type CatalogEvent } from '../domain/catalogs/catalog-events.ts';
import { CATALOG, evolve, initialState, type CatalogState } from '../domain/catalogs/catalog.ts';
import { keyedResources } from './keyed-resources.ts';

export const catalogsProjection = keyedResources<CatalogState, CatalogEvent>({
  name: 'catalogs',
  table: 'catalogs',
  category: CATALOG,
  events: catalogEvents,
  initialState,
  evolve,
  identify: (state) => (state.status === 'NONE' ? undefined : { ...state, id: state.catalogId }),
});
