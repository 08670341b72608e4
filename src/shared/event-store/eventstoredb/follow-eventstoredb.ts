import type { Logger } from 'pino';
import { backoffMs, sleep } from '../../backoff.ts';
import {
  categoryOf,
  comparePositions,
  LogGapError,
  type EventBatch,
  type Position,
  type SubscribeOptions,
} from '../event-store.ts';
import { unlessAborted } from '../unless-aborted.ts';
import type { Connection } from './connection.ts';
import { describeFailure, failureOf, SilentServerError } from './failure.ts';
import type { LogEnd } from './log-end.ts';
import { parsePosition } from './log-position.ts';
import { openLogTap, type LogTap } from './log-tap.ts';
import { toRecordedEvent } from './stored-event.ts';

export interface FollowSource {
  readonly connection: Connection;
  readonly log: Pick<Logger, 'warn'>;
  /** @throws EventStoreUnavailableError */
  readEnd(): Promise<LogEnd>;
  /** A subscription of the client has ended and will be made again. */
  onLost(): void;
}

const BATCH_SIZE_DEFAULT = 1_000;
const WAITING_BYTES_MAX = 16 * 1024 * 1024;
const RETRY = { baseMs: 50, capMs: 2_000 };
/** The log goes on and nothing comes: the subscription is held for dead. */
const SILENCE_MS_MAX = 2_000;
/** With nothing to do, the end of the log is looked at this often, in case the subscription has died in silence. */
const LOOK_MS = 5_000;

/** `EventStore.subscribeToAll` over subscriptions that may end at any moment, in whatever way. */
export async function* followEventStoreDb(
  source: FollowSource,
  options: SubscribeOptions,
): AsyncGenerator<EventBatch> {
  const { signal, batchSize = BATCH_SIZE_DEFAULT } = options;
  if (!Number.isInteger(batchSize) || batchSize < 1 || batchSize > 10_000) {
    throw new RangeError(`batchSize must be 1 to 10,000, not ${batchSize}`);
  }
  parsePosition(options.after);
  const state: Follower = { position: options.after, toldCaughtUp: false };
  for (let failures = 1; !signal.aborted; failures += 1) {
    let tap: LogTap | undefined;
    const client = source.connection.client();
    try {
      const end = await unlessAborted(source.readEnd(), signal);
      if (end === undefined) return;
      assertReaches(state.position, end);
      tap = openLogTap(client, state.position, { eventsMax: batchSize, bytesMax: WAITING_BYTES_MAX });
      while (true) {
        const batch = await nextBatch(source, tap, state, options, batchSize);
        if (batch === undefined) return;
        failures = 0;
        yield batch;
      }
    } catch (error) {
      if (error instanceof LogGapError) throw error;
      source.connection.report(client, error);
      assertKnown(state.position, error);
      source.onLost();
      source.log.warn(
        { failure: describeFailure(error), failures, position: state.position },
        'subscription to EventStoreDB lost, subscribing again',
      );
    } finally {
      tap?.close();
    }
    await sleep(backoffMs(failures + 1, RETRY), signal);
  }
}

interface Follower {
  /** Everything up to here was given to the subscriber. */
  position: Position;
  toldCaughtUp: boolean;
}

/** Waits for something to tell. @returns undefined on abort; @throws whatever ended the subscription */
const nextBatch = async (
  source: FollowSource,
  tap: LogTap,
  state: Follower,
  { filter, signal }: SubscribeOptions,
  batchSize: number,
): Promise<EventBatch | undefined> => {
  const batchOf = (caughtUp: boolean): EventBatch => {
    const { events, position } = tap.take(batchSize);
    state.position = position;
    state.toldCaughtUp = caughtUp;
    const wanted = events.filter(({ event }) => isWanted(event?.streamId ?? '', filter?.categories));
    return {
      events: wanted.map(toRecordedEvent).filter((event) => event !== undefined),
      position,
      caughtUp,
    };
  };
  while (!signal.aborted) {
    // What came before the end is as good as ever; and a server that ends every subscription soon must not keep
    // a subscriber at one place for ever.
    if (tap.isFull || (tap.ended !== undefined && tap.waiting > 0)) return batchOf(false);
    if (tap.ended !== undefined) throw tap.ended;
    // Whether this is all, only the log can say: the client tells "caught up" before it has handed over what
    // came before.
    const end = await unlessAborted(source.readEnd(), signal);
    if (end === undefined) return undefined;
    assertReaches(state.position, end);
    const isAll = comparePositions(tap.reached, end.head) >= 0;
    const isNews = tap.waiting > 0 || tap.reached !== state.position || !state.toldCaughtUp;
    if (isAll && isNews) return batchOf(true);
    const isChanged =
      tap.ended !== undefined || tap.isFull || (await tap.changed(isAll ? LOOK_MS : SILENCE_MS_MAX, signal));
    if (!isChanged && !isAll && !signal.aborted) {
      throw new SilentServerError(`the log is at ${end.head}, but nothing came after ${tap.reached}`);
    }
  }
  return undefined;
};

const isWanted = (stream: string, categories: readonly string[] | undefined): boolean =>
  categories?.includes(categoryOf(stream)) ?? true;

/** A subscriber that is ahead would wait in silence until the log has passed it, and miss what came in between. */
const assertReaches = (position: Position, { end }: LogEnd): void => {
  if (comparePositions(end, position) < 0) {
    throw new LogGapError(
      `position ${position} is ahead of the log, which ends at ${end}: restored from a backup?`,
    );
  }
};

/** No event begins at this place of the log: it is another log than the one that the position is of. */
const assertKnown = (position: Position, error: unknown): void => {
  if (failureOf(error).kind !== 'invalid-position') return;
  throw new LogGapError(`EventStoreDB knows no position ${position}: restored from a backup?`, {
    cause: error,
  });
};
