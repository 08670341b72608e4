import { loadAudience } from '../audiences/handler.ts';
import { readCatalogItems } from '../catalogs/catalog-content.ts';
import { loadCatalog } from '../catalogs/handler.ts';
import { loadEventSource } from '../event-sources/handler.ts';
import type { SyncStores } from '../resource-syncs/plan-sync.ts';
import {
  CALL_BYTES_MAX,
  type ResourceKey,
  type SyndicatedKind,
  type SyndicatedKinds,
} from './syndicated-kinds.ts';
import { AUDIENCE } from '../../domain/audiences/audience.ts';
import { CATALOG } from '../../domain/catalogs/catalog.ts';
import type { CatalogItem } from '../../domain/catalogs/events.ts';
import { EVENT_SOURCE } from '../../domain/event-sources/event-source.ts';
import { adcp30TypesOf } from '../../domain/event-sources/event-type.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';

type Stores = Pick<SyncStores, 'store' | 'snapshots'>;

export const syndicatedKinds = (stores: Stores): SyndicatedKinds => ({
  AUDIENCE: audiences(stores),
  EVENT_SOURCE: eventSources(stores),
  CATALOG: catalogs(stores),
});

const idOf = (category: string, { customerId, advertiserId, resourceId }: ResourceKey): string =>
  resourceIdOf(category, customerId, advertiserId, resourceId);

const eventSources = (stores: Stores): SyndicatedKind => ({
  resourceType: 'EVENT_SOURCE',
  task: 'sync_event_sources',
  itemsMember: 'event_sources',
  idMember: 'event_source_id',
  delivery: 'whole',
  dropping: { by: 'the-rest', itemsMax: 1_000, mayBeEmpty: true },
  load: async (resource) => {
    const loaded = await loadEventSource(stores, resource.customerId, idOf(EVENT_SOURCE, resource));
    if (loaded?.state.status !== 'ACTIVE') return undefined;
    const { name, eventTypes, allowedDomains } = loaded.state;
    const item = {
      event_source_id: resource.resourceId,
      name,
      ...(eventTypes === undefined ? {} : { event_types: adcp30TypesOf(eventTypes) }),
      ...(allowedDomains === undefined ? {} : { allowed_domains: allowedDomains }),
    };
    return { item, revision: loaded.revision };
  },
  inFull: async (_resource, item) => item,
});

/** AdCP 3.0, enum consent-basis. Other values stay with us. */
const CONSENT_BASES = new Set(['consent', 'legitimate_interest', 'contract', 'legal_obligation']);

const audiences = (stores: Stores): SyndicatedKind => ({
  resourceType: 'AUDIENCE',
  task: 'sync_audiences',
  itemsMember: 'audiences',
  idMember: 'audience_id',
  delivery: 'members',
  dropping: { by: 'name' },
  load: async (resource) => {
    const loaded = await loadAudience(stores, resource.customerId, idOf(AUDIENCE, resource));
    if (loaded?.state.status !== 'ACTIVE') return undefined;
    const { revision } = loaded;
    const { name, consentBasis } = loaded.state;
    const item = {
      audience_id: resource.resourceId,
      name,
      ...(consentBasis !== undefined && CONSENT_BASES.has(consentBasis)
        ? { consent_basis: consentBasis }
        : {}),
      revision,
    };
    return { item, revision };
  },
  inFull: async (_resource, item) => {
    const { revision: _, ...said } = item;
    return said;
  },
});

/** AdCP 3.0, enum content-id-type. Any other scheme is left out. */
const CONTENT_ID_TYPES = new Set([
  'sku',
  'gtin',
  'offering_id',
  'job_id',
  'hotel_id',
  'flight_id',
  'vehicle_id',
  'listing_id',
  'store_id',
  'program_id',
  'destination_id',
  'app_id',
]);

const catalogs = (stores: Stores): SyndicatedKind => ({
  resourceType: 'CATALOG',
  task: 'sync_catalogs',
  itemsMember: 'catalogs',
  idMember: 'catalog_id',
  delivery: 'whole',
  // AdCP 3.0: at most 50, and never none.
  dropping: { by: 'the-rest', itemsMax: 50, mayBeEmpty: false },
  load: async (resource) => {
    const loaded = await loadCatalog(stores, resource.customerId, idOf(CATALOG, resource));
    if (loaded?.state.status !== 'ACTIVE') return undefined;
    const { state: catalog, revision } = loaded;
    const { type, name, content, conversionEvents, contentIdType } = catalog.definition;
    const item = {
      catalog_id: resource.resourceId,
      type,
      name,
      ...(conversionEvents === undefined ? {} : { conversion_events: adcp30TypesOf(conversionEvents) }),
      ...(contentIdType !== undefined && CONTENT_ID_TYPES.has(contentIdType)
        ? { content_id_type: contentIdType }
        : {}),
      ...(content.kind === 'inline'
        ? { content_hash: content.contentHash }
        : {
            url: content.url,
            ...(content.feedFormat === undefined ? {} : { feed_format: content.feedFormat }),
            ...(content.updateFrequency === undefined ? {} : { update_frequency: content.updateFrequency }),
            // Agents have already read the feed's first content.
            ...(catalog.feed === undefined || catalog.feed.changes === 0
              ? {}
              : { feed_changes: catalog.feed.changes }),
          }),
    };
    return { item, revision };
  },
  inFull: async (resource, { content_hash: contentHash, ...known }) => {
    const { feed_changes: _, ...item } = known;
    if (typeof contentHash !== 'string') return item;
    const { customerId } = resource;
    const items: CatalogItem[] = [];
    let bytes = 0;
    const stored = { customerId, catalogId: idOf(CATALOG, resource), contentHash };
    for await (const part of readCatalogItems(stores.store, stored)) {
      bytes += Buffer.byteLength(JSON.stringify(part));
      if (bytes > CALL_BYTES_MAX) return undefined;
      items.push(...part);
    }
    return { ...item, items };
  },
});
