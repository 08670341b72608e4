import { createHash } from 'node:crypto';
import {
  CATALOG,
  type CatalogCommand,
  type CatalogRefusal,
  type CatalogState,
} from '../../domain/catalogs/catalog.ts';
import type { CatalogItem } from '../../domain/catalogs/events.ts';
import type { SyncCatalogsBody } from '../../domain/catalogs/input.ts';
import {
  itemCountOf,
  type CatalogDefinition,
  type CatalogSyncResult,
} from '../../domain/catalogs/resource.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { canonicalJson } from '../../shared/json/canonical-json.ts';
import {
  problemOf,
  syncResources,
  type ResourceIdentity,
  type SyncedKind,
  type SyncItem,
  type SyncResult,
  type SyncWrites,
} from '../resource-syncs/commands.ts';
import { storeCatalogItems } from './catalog-content.ts';
import { executeOnCatalog, loadCatalog } from './handler.ts';

type Content = CatalogDefinition['content'];

const catalogs: SyncedKind<CatalogState, CatalogCommand, CatalogRefusal> = {
  category: CATALOG,
  plural: 'catalogs',
  execute: executeOnCatalog,
  archive: (now) => ({ type: 'ArchiveCatalog', now }),
};

export const syncCatalogs = async (
  writes: SyncWrites,
  advertiserId: number,
  body: SyncCatalogsBody,
  request: RequestContext,
): Promise<CatalogSyncResult[]> => {
  const wanted = body.catalogs.map((read): SyncItem<CatalogCommand> => {
    const { key } = read;
    if ('sent' in read) return { key, problem: problemOf(read) };
    const { items, url, feedFormat, updateFrequency, ...members } = read.item;
    if ((items === undefined) === (url === undefined)) {
      return { key, problem: 'items or url is required, and only one of them' };
    }
    const content: Content =
      url === undefined
        ? { kind: 'inline', contentHash: hashOf(items), itemCount: items?.length ?? 0 }
        : omitUndefined({ kind: 'feed' as const, url, feedFormat, updateFrequency });
    const definition = { name: key, ...members, content };
    return {
      key,
      command: async (named) => {
        await storeItems(writes, content, items ?? [], named, request);
        const { id: catalogId, ...identity } = named;
        return { type: 'PublishCatalog', ...identity, catalogId, definition };
      },
    };
  });
  const accountId = body.account?.account_id ?? String(advertiserId);
  const sync = { advertiserId, accountId, items: wanted, deleteMissing: body.delete_missing === true };
  return (await syncResources(writes, catalogs, sync, request)).map(shown);
};

const hashOf = (items: unknown): string => createHash('sha256').update(canonicalJson(items)).digest('hex');

/** Skips unchanged content, the usual case of a repeated sync. */
const storeItems = async (
  writes: SyncWrites,
  content: Content,
  items: readonly CatalogItem[],
  { customerId, id: catalogId, now }: ResourceIdentity,
  { requestId, principal: { actor } }: RequestContext,
): Promise<void> => {
  if (content.kind === 'feed') return;
  const { contentHash } = content;
  const known = (await loadCatalog(writes, customerId, catalogId))?.state.definition.content;
  if (known?.kind === 'inline' && known.contentHash === contentHash) return;
  const place = { customerId, catalogId, contentHash };
  await storeCatalogItems(writes.store, place, items, { actor, requestId, now });
};

const shown = (result: SyncResult<CatalogState>): CatalogSyncResult => {
  const { key: catalog_id, action } = result;
  if (action === 'failed') {
    return { catalog_id, action, errors: [{ code: 'VALIDATION_ERROR', message: result.problem }] };
  }
  if (action === 'deleted' || result.state.status === 'NONE') return { catalog_id, action };
  return { catalog_id, action, item_count: itemCountOf(result.state), version: result.state.version };
};
