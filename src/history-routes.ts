import { campaignIdOf } from './domain/campaigns/campaign-resource.ts';
import { connectionIdOf } from './domain/engines/engine-connection-resource.ts';
import { sourceOfStream } from './domain/conversions/conversion-events.ts';
import { eventSourceStream } from './domain/event-sources/event-source.ts';
import type { AuditedResource } from './domain/history/audit-log-resource.ts';
import type { EventRow } from './query/history/audit-entries.ts';
import { auditLogRoute, type AuditReads } from './query/history/audit-routes.ts';
import type { AuditedKind } from './query/history/audited-kind.ts';
import { withListAsOf } from './query/history/list-as-of.ts';
import { findKeyUsers } from './query/history/key-users.ts';
import { requestRoute } from './query/history/request-route.ts';
import { refusingAsOf, withAsOf } from './query/history/as-of.ts';
import type { HistoryReads } from './query/history/find-history.ts';
import { historyRoutes } from './query/history/history-routes.ts';
import { createKeptFolds, type KeptFolds } from './query/history/kept-folds.ts';
import { createLanes } from './query/history/lanes.ts';
import { createStreamHistory } from './query/history/stream-history.ts';
import type { ResourceReads } from './query/resources/resource-reads.ts';
import type { EventStore } from './shared/event-store/event-store.ts';
import type { Route } from './shared/http/route.ts';

export interface HistoryParts extends ResourceReads {
  readonly store: EventStore;
  readonly kinds: readonly AuditedKind[];
  /** Told what is to be interrupted when the store behind the service may be another one. */
  readonly onKeptFolds: (kept: KeptFolds) => void;
}

/** Memory that states of the past may take. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024;

/** Streams that are read at once: sixteen are one statement (`read-log.ts`). */
const LANES = { each: 16, together: 32 };

/** The routes, whose reads can answer how things were, and those that tell what happened to them. */
export const withHistory = (parts: HistoryParts, routes: readonly Route[]): readonly Route[] => {
  const { store, kinds } = parts;
  const kept = createKeptFolds(store, KEPT_BYTES_MAX);
  parts.onKeptFolds(kept);
  const reads: HistoryReads = {
    historyFor: ({ isUnheard }) => createStreamHistory(store, kept, isUnheard),
    lanes: createLanes(LANES),
    usersOf: (customerId, actors) => findKeyUsers(parts, customerId, actors),
  };
  const audit = { ...parts, ...reads, ...auditReads(kinds) };
  return refusingAsOf([
    ...withListAsOf({ ...parts, ...reads }, kinds, withAsOf(reads, kinds, routes)),
    ...historyRoutes(reads, kinds),
    auditLogRoute(audit),
    requestRoute(audit),
  ]);
};

/** How the audit log comes from its rows to what they are about. */
const auditReads = (
  kinds: readonly AuditedKind[],
): Pick<AuditReads, 'kinds' | 'kindOf' | 'namesakeOf' | 'failures' | 'campaignIdOf' | 'partOf'> => {
  const byType = new Map<AuditedResource, AuditedKind>(kinds.map((kind) => [kind.resourceType, kind]));
  const kind = byType.get('EVENT_SOURCE');
  return {
    kinds,
    kindOf: ({ resourceType }: EventRow) => byType.get(resourceType),
    // Conversions are called by the source that they came from: their own events are large, and not read for this.
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
