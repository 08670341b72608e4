import { campaignIdOf } from '../../domain/campaigns/resource.ts';
import { connectionIdOf } from '../../domain/engines/resource.ts';
import { sourceOfStream } from '../../domain/conversions/events.ts';
import { eventSourceStream } from '../../domain/event-sources/event-source.ts';
import type { AuditedResource } from '../../domain/history/audit-log-resource.ts';
import { createSessionCursors } from '../resources/session-cursor.ts';
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

export interface HistoryParts extends ResourceReads {
  readonly store: EventStore;
  readonly kinds: readonly AuditedKind[];
  readonly keys: () => Promise<KeyRing>;
  /** Interrupt it when the store behind the service may be another one. */
  readonly onFoldCache: (kept: FoldCache) => void;
}

const KEPT_BYTES_MAX = 32 * 1024 * 1024;

/** Sixteen streams are one statement (`read-log.ts`). */
const AT_ONCE = { each: 16, together: 32 };

export const withHistory = (parts: HistoryParts, routes: readonly Route[]): readonly Route[] => {
  const { kinds } = parts;
  const reads = historyReads(parts);
  return refusingAsOf([
    ...withListAsOf(listReads(parts, reads), kinds, withAsOf(reads, kinds, routes)),
    ...tellingRoutes(parts, reads),
  ]);
};

/** For a process that is not the service: states, past states and history, without read models. */
export const historyAlone = (parts: HistoryParts): readonly Route[] => {
  const { kinds } = parts;
  const reads = historyReads(parts);
  return refusingAsOf([
    ...stateRoutes(reads, kinds),
    ...pastLists(listReads(parts, reads), kinds),
    ...tellingRoutes(parts, reads),
  ]);
};

const listReads = (parts: HistoryParts, reads: HistoryReads): Parameters<typeof pastLists>[0] => ({
  ...parts,
  ...reads,
  clock: systemClock,
  cursors: createSessionCursors(parts.keys),
});

const historyReads = (parts: HistoryParts): HistoryReads => {
  const { store, onFoldCache } = parts;
  const kept = createFoldCache(store, KEPT_BYTES_MAX);
  onFoldCache(kept);
  return {
    historyFor: ({ isClientGone }) => createStreamHistory(store, kept, isClientGone),
    forEach: createSharedForEach(AT_ONCE),
    usersOf: (customerId, actors) => findKeyUsers(parts, customerId, actors),
  };
};

const tellingRoutes = (parts: HistoryParts, reads: HistoryReads): readonly Route[] => {
  const { kinds } = parts;
  const tables = kinds.flatMap(({ keyedIn }) => keyedIn ?? []);
  const ownersOf: AuditReads['ownersOf'] = async (customerId, key, most) => {
    const owners = tables.map((table) => ownersOfKey(parts, table, customerId, key, most));
    return [...new Set((await Promise.all(owners)).flat())].slice(0, most);
  };
  const position = { isPosition: (text: string) => isPosition(parts.store, text) };
  const audit = { ...parts, ...reads, ...auditReads(kinds), ...position, ownersOf };
  return [...historyRoutes(reads, kinds), auditLogRoute(audit), requestRoute(audit)];
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
