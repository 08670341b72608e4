import { backoffMs, sleep } from '../../../shared/backoff.ts';
import type { Logger } from '../../../shared/log.ts';
import type { DueFeed, FeedList } from './feed-list.ts';
import { readFeed, type ReadFeedOptions } from './read-feed.ts';

export interface ReadFeedsOptions extends ReadFeedOptions {
  readonly list: FeedList;
  /** Begins to watch the list; resolves when something may be due that was not, or after that many milliseconds. */
  readonly watch: () => (ms: number) => Promise<void>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Feeds that a process reads at once: together they are a few pieces in memory. */
const CONCURRENCY = 4;
const EVERY_MS = 2_000;
/** Between two looks at least. */
const GATHER_MS = 20;
/** What fails on our side may fail for good, of some feed. */
const AFTER_FAILURE_MS = 30_000;
const FAILURES = { baseMs: AFTER_FAILURE_MS, capMs: 60 * 60_000 };

/**
 * Reads the feeds of catalogs when they are due, until `signal`; resolves when the last reading has ended. The list
 * alone says what is due, no queue is needed. Many processes may do this at once.
 */
export const readFeeds = async (options: ReadFeedsOptions): Promise<void> => {
  const { watch, log, signal } = options;
  const running = new Set<Promise<void>>();
  while (!signal.aborted) {
    const changed = watch();
    const room = CONCURRENCY - running.size;
    const due = room === 0 ? [] : await claim(options, room);
    for (const feed of due) {
      const run: Promise<void> = readOne(options, feed)
        .catch((error: unknown) => log.warn({ err: error, catalog: feed.catalogId }, 'a feed was not read'))
        .finally(() => running.delete(run));
      running.add(run);
    }
    const woken = running.size === CONCURRENCY ? Promise.race(running) : changed(EVERY_MS);
    await Promise.race([woken, ...running]);
    await sleep(GATHER_MS, signal);
  }
  await Promise.all(running);
};

const claim = async ({ list, log, signal }: ReadFeedsOptions, room: number): Promise<readonly DueFeed[]> => {
  try {
    return await list.claim(room);
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error }, 'feeds that are due cannot be looked for; trying again');
    return [];
  }
};

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
