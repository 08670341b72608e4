import { backoffMs } from '../../../shared/async/backoff.ts';
import type { Logger } from 'pino';
import { workThrough, type Watch } from '../work-through.ts';
import type { DueFeed, FeedList } from './feed-list.ts';
import { readFeed, type ReadFeedOptions } from './read-feed.ts';

export interface ReadFeedsOptions extends ReadFeedOptions {
  readonly list: FeedList;
  readonly watch: Watch;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Feeds that a process reads at once: together they are a few pieces in memory. */
const CONCURRENCY = 4;
/** What fails on our side may fail for good, of some feed. */
const AFTER_FAILURE_MS = 30_000;
const FAILURES = { baseMs: AFTER_FAILURE_MS, capMs: 60 * 60_000 };

/**
 * Reads the feeds of catalogs when they are due, until `signal`; resolves when the last reading has ended. The list
 * alone says what is due, no queue is needed. Many processes may do this at once.
 */
export const readFeeds = (options: ReadFeedsOptions): Promise<void> =>
  workThrough({
    ...options,
    concurrency: CONCURRENCY,
    claim: (countMax) => options.list.claim(countMax),
    work: (feed) => readOne(options, feed),
    what: 'feeds of catalogs',
  });

/** Whatever it ends with, the feed is due again: after its lease at the latest. */
const readOne = async (options: ReadFeedsOptions, feed: DueFeed): Promise<void> => {
  const { list, signal } = options;
  try {
    await list.rest(feed, await readFeed(options, feed, signal));
  } catch (error) {
    const afterMs = signal.aborted ? 0 : AFTER_FAILURE_MS + backoffMs(feed.attempt, FAILURES);
    await list.rest(feed, { afterMs, isRead: false });
    if (!signal.aborted) throw error;
  }
};
