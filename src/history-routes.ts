import { accountKind, auditedKinds, usersOfAccount } from './audited-kinds.ts';
import { accountStream } from './domain/accounts/account.ts';
import { withAsOf } from './query/history/as-of.ts';
import type { HistoryReads } from './query/history/find-history.ts';
import { historyRoutes } from './query/history/history-routes.ts';
import { createKeptFolds, type KeptFolds } from './query/history/kept-folds.ts';
import { createStreamHistory } from './query/history/stream-history.ts';
import type { ResourceReads } from './query/resources/resource-reads.ts';
import type { EventStore } from './shared/event-store/event-store.ts';
import type { Route } from './shared/http/route.ts';

export interface HistoryParts extends ResourceReads {
  readonly store: EventStore;
  /** How clients reach the service. */
  readonly baseUrl: () => string;
  /** Told what may have to be forgotten when the store behind the service is another one. */
  readonly onKeptFolds: (kept: KeptFolds) => void;
}

/** Memory that states of the past may take. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024;

/** The routes, whose reads can answer how things were, and those that tell what happened to them. */
export const withHistory = (parts: HistoryParts, routes: readonly Route[]): readonly Route[] => {
  const { store } = parts;
  const kept = createKeptFolds(store, KEPT_BYTES_MAX);
  parts.onKeptFolds(kept);
  const history = createStreamHistory(store, kept);
  const reads: HistoryReads = {
    history,
    usersOf: async (customerId) =>
      usersOfAccount(
        (await history.stateAt(accountKind, accountStream(customerId), { revision: 'last' })).state,
      ),
  };
  const kinds = auditedKinds(parts);
  return [...withAsOf(reads, kinds, routes), ...historyRoutes(reads, kinds)];
};
