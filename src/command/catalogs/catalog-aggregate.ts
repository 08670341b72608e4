import { catalogEvents } from '../../domain/catalogs/catalog-events.ts';
import { catalogDecider } from '../../domain/catalogs/catalog.ts';

/** Catalogs, as everybody loads them: one `foldVersion`, whoever keeps a snapshot. */
export const catalogAggregate = { decider: catalogDecider, events: catalogEvents, foldVersion: 2 };
