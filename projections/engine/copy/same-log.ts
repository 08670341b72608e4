import { sleep } from '../../../shared/async/backoff.ts';
import {
  EventStoreUnavailableError,
  START,
  type EventStore,
  type Position,
} from '../../../shared/event-store/event-store.ts';

/** The log is not the one that the live read model was made from: nothing can be built beside it. */
export class OtherLogError extends Error {
  override readonly name = 'OtherLogError';
}

/**
 * A log that ends before the live read model's position was put back to an earlier time: what is made of it would be
 * taken for whole, because its end is reached.
 * @throws OtherLogError for such a log, and for one of another kind; what `head` throws
 */
export const requireLog = async (
  store: Pick<EventStore, 'head' | 'distance'>,
  position: Position,
): Promise<void> => {
  const head = await store.head();
  if (distanceTo(store, position, head) < 0) {
    throw new OtherLogError(
      `the live read model is at ${position}, and the log ends at ${head}: was an older one restored? ` +
        'Then stop the service and run `read-models rebuild --offline`',
    );
  }
};

const distanceTo = (store: Pick<EventStore, 'distance'>, from: Position, to: Position): number => {
  try {
    return store.distance(from, to);
  } catch (cause) {
    throw new OtherLogError('the read models were made from another event store', { cause });
  }
};

const TRIES_MS_MAX = 30_000;
const TRY_EVERY_MS = 250;

/**
 * A rebuild goes on for minutes: a store that does not answer for some seconds of them is asked again. For questions that
 * nobody waits behind.
 * @throws EventStoreUnavailableError when it has not answered for half a minute
 */
export const askedAgain = async <T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> => {
  const endMs = performance.now() + TRIES_MS_MAX;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof EventStoreUnavailableError) || performance.now() > endMs) throw error;
      await sleep(TRY_EVERY_MS, signal);
      signal.throwIfAborted();
    }
  }
};

/** What tells one log from another: its first event. A copy of one is not gone on with over another. */
export const identityOf = async (store: Pick<EventStore, 'readAll'>): Promise<string> => {
  // Some at once: where a log begins with a server's own events, they are passed over in pages of that size.
  const [first] = await store.readAll({ after: START, limit: 100 });
  return first === undefined ? 'empty' : `from ${first.id}`;
};
