import type { Catalog } from '../../../domain/catalogs/catalog-resource.ts';
import { feedBasis, type CatalogCommand } from '../../../domain/catalogs/catalog.ts';
import { backoffMs } from '../../../shared/async/backoff.ts';
import { isoTimestamp, type Clock } from '../../../shared/async/clock.ts';
import type { SnapshotStore } from '../../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { derivedId } from '../../../shared/aggregate/ids.ts';
import { loadAdvertiser } from '../../advertisers/load.ts';
import { executeOnCatalog, loadCatalog } from '../../catalogs/sync-catalogs.ts';
import type { DueFeed, NextReading } from './feed-list.ts';
import type { Feed, FeedAnswer, FetchFeed } from './fetch-feed.ts';

export interface ReadFeedOptions {
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  readonly clock: Clock;
  readonly fetchFeed: FetchFeed;
  /** Waits out a lost race for a stream. Default: by the wall clock. */
  readonly pause?: (ms: number) => Promise<void>;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const EVERY_MS: Readonly<Record<NonNullable<Feed['updateFrequency']>, number>> = {
  realtime: 15 * MINUTE_MS,
  hourly: HOUR_MS,
  daily: 24 * HOUR_MS,
  weekly: 7 * 24 * HOUR_MS,
};
const RETRY = { baseMs: MINUTE_MS, capMs: 6 * HOUR_MS };
/** Of a feed that is read only when it is asked for: some three days. */
const ATTEMPTS_MAX = 20;
/** Until somebody looks whether an archived advertiser was restored. */
const ARCHIVED_MS = 24 * HOUR_MS;

/**
 * Reads a feed and records what came of it, if that is news. May be repeated, and may run twice at once: what is
 * recorded says what it went by, and is nothing when that has changed since.
 * @returns when it is to be read next
 * @throws the signal's reason when it ended; EventStoreUnavailableError, AppendOutcomeUnknownError,
 *   TooManyConflictsError
 */
export const readFeed = async (
  options: ReadFeedOptions,
  due: DueFeed,
  signal: AbortSignal,
): Promise<NextReading> => {
  const { fetchFeed } = options;
  const catalog = (await loadCatalog(options, due.customerId, due.catalogId))?.catalog;
  // The list may be behind. What is brought back later is on it again.
  if (catalog?.status !== 'ACTIVE' || catalog.definition.content.kind !== 'feed') return 'gone';
  const advertiser = await loadAdvertiser(options, catalog.customerId, catalog.advertiserId);
  if (advertiser?.status !== 'ACTIVE') return { afterMs: ARCHIVED_MS, isRead: true };
  const feed = catalog.definition.content;
  const answer = await fetchFeed(feed, signal);
  const outcome = await record(options, catalog, answer);
  // It may have read what is newer than what was recorded meanwhile: somebody has to look again.
  if (outcome === 'refused') return { afterMs: MINUTE_MS, isRead: true };
  return nextReading(feed, answer, due.attempt);
};

const record = async (
  { store, snapshots, clock, pause }: ReadFeedOptions,
  catalog: Catalog,
  answer: FeedAnswer,
): Promise<'done' | 'refused'> => {
  const { customerId, catalogId } = catalog;
  const basis = feedBasis(catalog);
  const command: CatalogCommand = {
    ...(answer.outcome === 'read'
      ? { type: 'RecordFeed', contentHash: answer.contentHash, bytes: answer.bytes }
      : { type: 'FailFeed', reason: answer.reason }),
    now: isoTimestamp(clock.now()),
    basis,
  };
  const said = answer.outcome === 'read' ? answer.contentHash : answer.reason;
  const commandId = derivedId(catalogId, `feed:${basis.version}:${basis.revision}:${said}`);
  const { outcome } = await executeOnCatalog({ store, snapshots }, catalogId, command, {
    context: { commandId, customerId, actor: 'worker:catalog-feeds', requestId: commandId, continues: true },
    ...(pause === undefined ? {} : { pause }),
  });
  return outcome;
};

const nextReading = ({ updateFrequency }: Feed, { outcome }: FeedAnswer, attempt: number): NextReading => {
  const everyMs = updateFrequency === undefined ? undefined : EVERY_MS[updateFrequency];
  if (outcome === 'read') return everyMs === undefined ? 'asked' : { afterMs: everyMs, isRead: true };
  if (everyMs === undefined && attempt >= ATTEMPTS_MAX) return 'asked';
  const afterMs = MINUTE_MS + backoffMs(attempt, RETRY);
  return { afterMs: Math.min(afterMs, everyMs ?? Infinity), isRead: false };
};
