import { catalogAggregate } from '../../domain/catalogs/catalog.ts';
import { handlerFor } from '../../shared/aggregate/handler-for.ts';

export const { execute: executeOnCatalog, loadWithRevision: loadCatalog } = handlerFor(catalogAggregate);
