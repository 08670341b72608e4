import { campaignIdOf } from '../../domain/campaigns/resource.ts';
import { connectionIdOf } from '../../domain/engines/resource.ts';
import { sourceOfStream } from '../../domain/conversions/events.ts';
import { eventSourceStream } from '../../domain/event-sources/event-source.ts';
import type { AuditedResource } from '../../domain/history/audit-log-resource.ts';
import { createListCursors } from '../resources/list-cursor.ts';
import type { EventRow } from './audit-entries.ts';
import { auditLogRoute, type AuditReads } from './audit-routes.ts';
import type { AuditedKind } from '../resources/audited-kind.ts';
import { pastLists, withListAsOf } from './list-as-of.ts';
import { findKeyUsers } from './key-users.ts';
import { requestRoute } from './request-route.ts';
import { refusingAsOf, stateRoutes, withAsOf } from './as-of.ts';
import type { HistoryReads } from './find-history.ts';
import { historyRoutes } from './history-routes.ts';
import { createFoldCache, type FoldCache } from './fold-cache.ts';
import { createSharedForEach } from '../../shared/async/limit.ts';
import { createStreamHistory } from './stream-history.ts';
import { ownersOfKey, type ResourceReads } from '../resources/resource-reads.ts';
import { categoryOf, isPosition, type EventStore } from '../../shared/event-store/event-store.ts';
import { systemClock } from '../../shared/async/clock.ts';
import type { Route } from '../../shared/http/route.ts';
import type { KeyRing } from '../../shared/secrets/key-ring.ts';

export interface HistoryDependencies extends ResourceReads {
  readonly store: EventStore;
  readonly kinds: readonly AuditedKind[];
  readonly keys: () => Promise<KeyRing>;
  /** Interrupt it when the store behind the service may be another one. */
  readonly onFoldCache: (kept: FoldCache) => void;
}

const KEPT_BYTES_MAX = 32 * 1024 * 1024;

/** Sixteen streams are one statement (`read-log.ts`). */
const AT_ONCE = { each: 16, together: 32 };

export const withHistory = (
  { database, progress, store, kinds, keys, onFoldCache }: HistoryDependencies,
  routes: readonly Route[],
): readonly Route[] => {
  const rows = { database, progress };
  const history = historyReads(rows, store, onFoldCache);
  return refusingAsOf([
    ...withListAsOf(listReads(rows, history, keys), kinds, withAsOf(history, kinds, routes)),
    ...historyAndAuditRoutes(rows, history, store, kinds),
  ]);
};

/** For a process that is not the service: states, past states and history, without read models. */
export const historyAlone = ({
  database,
  progress,
  store,
  kinds,
  keys,
  onFoldCache,
}: HistoryDependencies): readonly Route[] => {
  const rows = { database, progress };
  const history = historyReads(rows, store, onFoldCache);
  return refusingAsOf([
    ...stateRoutes(history, kinds),
    ...pastLists(listReads(rows, history, keys), kinds),
    ...historyAndAuditRoutes(rows, history, store, kinds),
  ]);
};

const listReads = (
  rows: ResourceReads,
  history: HistoryReads,
  keys: HistoryDependencies['keys'],
): Parameters<typeof pastLists>[0] => ({
  ...rows,
  ...history,
  clock: systemClock,
  cursors: createListCursors(keys),
});

const historyReads = (
  rows: ResourceReads,
  store: EventStore,
  onFoldCache: HistoryDependencies['onFoldCache'],
): HistoryReads => {
  const kept = createFoldCache(store, KEPT_BYTES_MAX);
  onFoldCache(kept);
  return {
    historyFor: ({ isClientGone }) => createStreamHistory(store, kept, isClientGone),
    forEach: createSharedForEach(AT_ONCE),
    usersOf: (customerId, actors) => findKeyUsers(rows, customerId, actors),
  };
};

const historyAndAuditRoutes = (
  rows: ResourceReads,
  history: HistoryReads,
  store: EventStore,
  kinds: readonly AuditedKind[],
): readonly Route[] => {
  const tables = kinds.flatMap(({ keyedIn }) => keyedIn ?? []);
  const audit: AuditReads = {
    ...rows,
    ...history,
    ...auditReads(kinds),
    isPosition: (text) => isPosition(store, text),
    ownersOf: async (customerId, key, most) => {
      const owners = tables.map((table) => ownersOfKey(rows, table, customerId, key, most));
      return [...new Set((await Promise.all(owners)).flat())].slice(0, most);
    },
  };
  return [...historyRoutes(history, kinds), auditLogRoute(audit), requestRoute(audit)];
};

const auditReads = (
  kinds: readonly AuditedKind[],
): Pick<AuditReads, 'kinds' | 'kindOf' | 'namesakeOf' | 'failures' | 'campaignIdOf' | 'partOf'> => {
  const byType = new Map<AuditedResource, AuditedKind>(kinds.map((kind) => [kind.resourceType, kind]));
  const kind = byType.get('EVENT_SOURCE');
  return {
    kinds,
    // The event may be in another stream than the resource's own.
    kindOf: ({ resourceType, stream }: EventRow) => {
      const own = byType.get(resourceType);
      return own?.category === categoryOf(stream) ? own : undefined;
    },
    // Named after the source: conversion events are large, and not read for this.
    namesakeOf: ({ stream }) => {
      const place = sourceOfStream(stream);
      if (place === undefined || kind === undefined) return undefined;
      return { kind, stream: eventSourceStream(place.customerId, place.sourceId) };
    },
    failures: new Set(['CatalogFeedFailed']),
    campaignIdOf,
    partOf: (shown) => connectionIdOf(shown) ?? shown,
  };
};
