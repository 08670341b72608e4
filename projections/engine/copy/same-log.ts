import { sleep } from '../../../shared/async/backoff.ts';
import {
  EventStoreUnavailableError,
  START,
  type EventStore,
  type Position,
} from '../../../shared/event-store/event-store.ts';

export class OtherLogError extends Error {
  override readonly name = 'OtherLogError';
}

/**
 * A log restored to an earlier time would make an incomplete copy look complete.
 * @throws OtherLogError for such a log, and for another kind of log; errors of `head`
 */
export const requireLog = async (
  store: Pick<EventStore, 'head' | 'distance'>,
  position: Position,
): Promise<void> => {
  const head = await store.head();
  if (distanceTo(store, position, head) < 0) {
    throw new OtherLogError(
      `the live read model is at ${position}, but the log ends at ${head}: was an older log restored? ` +
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
 * A rebuild should survive some seconds without an answer. Only for questions that block no other work.
 * @throws EventStoreUnavailableError after half a minute without an answer
 */
export const retryWhileUnavailable = async <T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> => {
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

/** The first event identifies a log: a copy of one log is not continued with another. */
export const identityOf = async (store: Pick<EventStore, 'readAll'>): Promise<string> => {
  // The server's own events at the start of a log are skipped in pages of this size.
  const [first] = await store.readAll({ after: START, limit: 100 });
  return first === undefined ? 'empty' : `from ${first.id}`;
};
