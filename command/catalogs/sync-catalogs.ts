import { itemCountOf, type Catalog } from '../../domain/catalogs/catalog-resource.ts';
import {
  CATALOG,
  catalogAggregate,
  type CatalogCommand,
  type CatalogRefusal,
  type CatalogState,
} from '../../domain/catalogs/catalog.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import {
  syncResources,
  type ResourceIdentity,
  type SyncedKind,
  type SyncItem,
  type SyncResult,
  type SyncWrites,
} from '../resource-syncs/sync-resources.ts';
import { storeCatalogItems } from './catalog-content.ts';
import { requestedCatalog, type SyncCatalogsBody, type RequestedCatalog } from './catalog-input.ts';

export interface SyncedCatalog {
  readonly catalog_id: string;
  readonly action: SyncResult<unknown>['action'];
  readonly item_count?: number;
  readonly version?: number;
  readonly errors?: readonly { readonly code: 'VALIDATION_ERROR'; readonly message: string }[];
}

const handler = handlerFor(catalogAggregate);
export const executeOnCatalog = handler.execute;

const catalogs: SyncedKind<CatalogState, CatalogCommand, CatalogRefusal> = {
  category: CATALOG,
  plural: 'catalogs',
  handler,
  archive: (now) => ({ type: 'ArchiveCatalog', now }),
  changeOf: (state) => (state.status === 'NONE' ? 'deleted' : state.lastChange),
};

/** @throws as `syncResources` */
export const syncCatalogs = async (
  writes: SyncWrites,
  advertiserId: number,
  body: SyncCatalogsBody,
  request: RequestContext,
): Promise<readonly SyncedCatalog[]> => {
  const items = body.catalogs.map((read): SyncItem<CatalogCommand> => {
    if ('problem' in read) return read;
    const { key } = read;
    const wanted = requestedCatalog(key, read.item);
    if ('problem' in wanted) return { key, problem: wanted.problem };
    const { definition } = wanted;
    return {
      key,
      prepare: (named) => storeContent(writes, wanted, named, request),
      command: ({ id: catalogId, ...named }) => ({ type: 'PublishCatalog', ...named, catalogId, definition }),
    };
  });
  const accountId = body.account?.account_id ?? String(advertiserId);
  const asked = { advertiserId, accountId, items, deleteMissing: body.delete_missing === true };
  return (await syncResources(writes, catalogs, asked, request)).map(shown);
};

/** Skips unchanged content, the usual case of a repeated sync. */
const storeContent = async (
  writes: SyncWrites,
  { definition: { content }, items }: RequestedCatalog,
  { customerId, id: catalogId, now }: ResourceIdentity,
  { requestId, principal: { actor } }: RequestContext,
): Promise<void> => {
  if (content.kind === 'feed') return;
  const { contentHash } = content;
  const known = (await handler.load(writes, customerId, catalogId))?.definition.content;
  if (known?.kind === 'inline' && known.contentHash === contentHash) return;
  await storeCatalogItems(writes.store, { customerId, catalogId, contentHash }, items, {
    actor,
    requestId,
    now,
  });
};

/** The current catalog; undefined when it does not exist. */
export const loadCatalog = async (
  stores: CommandStores,
  customerId: number,
  catalogId: string,
): Promise<{ readonly catalog: Catalog; readonly revision: number } | undefined> => {
  const { state, revision } = await handler.loadAt(stores, customerId, catalogId);
  return state.status === 'NONE' || typeof revision !== 'number' ? undefined : { catalog: state, revision };
};

const shown = (result: SyncResult<CatalogState>): SyncedCatalog => {
  const { key: catalog_id, action } = result;
  if (action === 'failed') {
    return { catalog_id, action, errors: [{ code: 'VALIDATION_ERROR', message: result.problem }] };
  }
  if (action === 'deleted' || result.state.status === 'NONE') return { catalog_id, action };
  return { catalog_id, action, item_count: itemCountOf(result.state), version: result.state.version };
};
