import { CATALOG_FEED } from '../../../domain/catalogs/work.ts';
import type { WorkKind } from '../../../shared/work-list/run-work.ts';
import { readFeed, type ReadFeedOptions } from './read-feed.ts';

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
