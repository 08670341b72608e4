import type { Catalog } from '../../../domain/catalogs/resource.ts';
import { feedBasis, type CatalogCommand } from '../../../domain/catalogs/catalog.ts';
import { CATALOG_FEED } from '../../../domain/catalogs/work.ts';
import { backoffMs } from '../../../shared/async/backoff.ts';
import { isoTimestamp, type Clock } from '../../../shared/async/clock.ts';
import type { SnapshotStore } from '../../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { derivedId } from '../../../shared/aggregate/ids.ts';
import type { WorkKind, WorkRun } from '../../../shared/work-list/run-work.ts';
import { DONE, type WorkEntry, type WorkResult } from '../../../shared/work-list/work-list.ts';
import { loadAdvertiser } from '../../advertisers/handler.ts';
import { executeOnCatalog, loadCatalog } from '../../catalogs/handler.ts';
import type { Feed, FeedAnswer, FetchFeed } from './fetch-feed.ts';

export interface ReadFeedOptions {
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  readonly clock: Clock;
  readonly fetchFeed: FetchFeed;
  /** Delay after an append conflict. Default: the wall clock. */
  readonly pause?: (ms: number) => Promise<void>;
}

export const catalogFeeds = (options: ReadFeedOptions): WorkKind => ({
  name: CATALOG_FEED,
  // Feeds are streamed, so each needs little memory.
  concurrency: 4,
  perAccountMax: 2,
  // For a feed without `update_frequency`: about three days.
  attemptsMax: 20,
  // Each feed is a request to a foreign server.
  gapMs: 60_000,
  handle: (entry, run) => readFeed(options, entry, run),
});

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const EVERY_MS: Readonly<Record<NonNullable<Feed['updateFrequency']>, number>> = {
  realtime: 15 * MINUTE_MS,
  hourly: HOUR_MS,
  daily: 24 * HOUR_MS,
  weekly: 7 * 24 * HOUR_MS,
};
const RETRY = { baseMs: MINUTE_MS, capMs: 6 * HOUR_MS };
/** Interval of checks whether an archived advertiser was restored. */
const ARCHIVED_MS = 24 * HOUR_MS;

/**
 * May run twice: the command names its basis, and is refused when that has changed.
 * @returns when to read the feed next
 * @throws the signal's reason; EventStoreUnavailableError, AppendOutcomeUnknownError, TooManyConflictsError
 */
export const readFeed = async (
  options: ReadFeedOptions,
  { customerId, key }: Pick<WorkEntry, 'customerId' | 'key'>,
  run: WorkRun,
): Promise<WorkResult> => {
  const { fetchFeed } = options;
  const catalog = (await loadCatalog(options, customerId, key))?.state;
  // The list may lag behind the stream.
  if (catalog?.status !== 'ACTIVE' || catalog.definition.content.kind !== 'feed') return DONE;
  const advertiser = await loadAdvertiser(options, catalog.customerId, catalog.advertiserId);
  if (advertiser?.status !== 'ACTIVE') return { is: 'next', afterMs: ARCHIVED_MS };
  const feed = catalog.definition.content;
  const answer = await fetchFeed(feed, run.signal);
  const outcome = await record(options, catalog, answer);
  // Another change was recorded meanwhile and the bytes may be newer, so the feed is read again.
  if (outcome === 'refused') return { is: 'next', afterMs: MINUTE_MS };
  return nextReading(feed, answer, run);
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

/** Spreads feeds that were named together. */
const spread = (ms: number): number => ms * (0.95 + 0.1 * Math.random());

const nextReading = (
  { updateFrequency }: Feed,
  answer: FeedAnswer,
  { attempt, isLastAttempt }: WorkRun,
): WorkResult => {
  const everyMs = updateFrequency === undefined ? undefined : EVERY_MS[updateFrequency];
  if (answer.outcome === 'read') {
    return everyMs === undefined ? { is: 'next' } : { is: 'next', afterMs: spread(everyMs) };
  }
  if (everyMs === undefined && isLastAttempt) return { is: 'next' };
  const afterMs = spread(Math.min(MINUTE_MS + backoffMs(attempt, RETRY), everyMs ?? Infinity));
  return { is: 'again', afterMs, isTry: true, reason: answer.reason };
};
