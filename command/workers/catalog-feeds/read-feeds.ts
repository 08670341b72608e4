import { workKinds } from '../../../domain/work-kinds.ts';
import type { WorkKind } from '../../../shared/work-list/run-work.ts';
import { readFeed, type ReadFeedOptions } from './read-feed.ts';

/** Reads the feeds of catalogs. */
export const catalogFeeds = (options: ReadFeedOptions): WorkKind => ({
  name: workKinds.catalogFeed,
  // Together they are a few pieces in memory.
  concurrency: 4,
  perAccountMax: 2,
  // Of a feed that is read only when it is asked for: some three days.
  attemptsMax: 20,
  // A feed is another company's server, however often it is asked for.
  gapMs: 60_000,
  handle: (entry, run) => readFeed(options, entry, run),
});
