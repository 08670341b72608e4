import { sleep } from '../async/backoff.ts';
import type { EventBatch, SubscribeOptions } from './event-store.ts';
import { untilRead, type FollowedLog } from './followed-log.ts';
import type { SharedTail } from './shared-tail.ts';

const BATCH_SIZE = { usual: 1_000, max: 10_000 };
const LOOK_AGAIN_MS = 100;

/**
 * Each page and batch starts where the previous one ended, and the tail accepts a reader only if it holds
 * everything after that.
 */
export async function* subscribeToLog(
  source: FollowedLog,
  tail: SharedTail,
  options: SubscribeOptions,
): AsyncGenerator<EventBatch> {
  const { signal, filter, batchSize = BATCH_SIZE.usual } = options;
  if (!Number.isInteger(batchSize) || batchSize < 1 || batchSize > BATCH_SIZE.max) {
    throw new RangeError(`batchSize must be 1 to 10,000, not ${batchSize}`);
  }
  let position = options.after;
  let reportedCaughtUp = false;
  while (!signal.aborted) {
    const after = position;
    const page = await untilRead(source.onReadFailed, signal, (failures) => {
      // A page may be too large to be read in time: each failure halves the page size.
      const limit = Math.max(1, Math.floor(batchSize / 2 ** failures));
      return source.readPage({ after, limit, ...filter });
    });
    if (page === undefined) return;
    const { events, caughtUp } = page;
    const isNews = page.position !== position || (caughtUp && !reportedCaughtUp);
    if (isNews) {
      ({ position } = page);
      reportedCaughtUp = caughtUp;
      yield { events, position, caughtUp };
    }
    // `caughtUp` in the tail's buffer may be older than this page.
    const reader = caughtUp ? tail.join({ after: position, batchSize, signal, ...filter }) : undefined;
    if (reader === undefined) {
      if (!isNews) await sleep(LOOK_AGAIN_MS, signal);
      continue;
    }
    try {
      for (;;) {
        const batch = await reader.next();
        if (batch === undefined) break;
        ({ position, caughtUp: reportedCaughtUp } = batch);
        yield batch;
      }
    } finally {
      reader.leave();
    }
  }
}
