import { DatabaseError, type Client } from 'pg';
import {
  comparePositions,
  EventStoreUnavailableError,
  START,
  type EventStore,
  type Position,
} from '../../../shared/event-store/event-store.ts';
import { abortable } from '../../../shared/async/abortable.ts';
import { openCheckpoint } from '../checkpoint.ts';
import type { Projection } from '../projection.ts';
import { inTransactionOf, type Maker } from './copy-state.ts';
import { fillCopy, type FillOptions } from './fill-copy.ts';
import { retryWhileUnavailable, requireLog } from './same-log.ts';

export interface HeldCopy extends FillOptions {
  readonly projection: Projection;
  readonly store: EventStore;
  /** Finds the live tables, holds the copy's lock, and sometimes locks the live checkpoint. */
  readonly guard: Client;
  readonly databaseUrl: string;
  readonly maker: Maker;
}

class StaleCopyError extends Error {
  override readonly name = 'StaleCopyError';
}

/** Ms that the live projector is blocked, plus one batch, while the copy applies the last events. */
const BLOCKED_MS_MAX = 500;
/** Ms for the event store's answers meanwhile: shorter than reads wait (2 s), with time to read. */
const ANSWER_MS_MAX = 1_500;
const UNANSWERED_MAX = 20;
/** Ms for the checkpoint's row: a retry of a long parked stream holds it. */
const LOCK_WAIT_MS_MAX = 60_000;
/** Ms of one attempt. Short, so that an abort takes effect quickly. */
const LOCK_TRY_MS = 500;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Runs `work` with both at the same checkpoint, whose live row is locked: live runner and retries begin with
 * that row, so none is in progress or changes anything. Events that arrive meanwhile are applied before the
 * lock, only the rest after it; if that is too much, the lock is released, so that the live lag stays small.
 * @throws OtherLogError if the log ends before; EventStoreUnavailableError; StaleCopyError after a reset of
 *   the live read model
 */
export const meetLive = async <T>(copy: HeldCopy, work: (position: Position) => Promise<T>): Promise<T> => {
  const { guard, projection } = copy;
  for (let triesLeft = UNANSWERED_MAX; ;) {
    copy.signal.throwIfAborted();
    const { position } = await openCheckpoint(guard, projection.name);
    await retryWhileUnavailable(() => requireLog(copy.store, position), copy.signal);
    await fillCopy(copy, position);
    const met = await inTransactionOf(guard, async () => {
      const livePosition = await lockLiveCheckpoint(copy);
      const reached = await reach(copy, livePosition).catch((error: unknown) => {
        if (!(error instanceof EventStoreUnavailableError) || (triesLeft -= 1) <= 0) throw error;
        return START;
      });
      const ahead = comparePositions(reached, livePosition);
      if (ahead > 0) throw staleCopy(projection, reached, livePosition);
      return ahead < 0 ? undefined : { result: await work(livePosition) };
    });
    if (met !== undefined) return met.result;
  }
};

/**
 * The live read model is locked, so a silent event store must not block this.
 * @throws EventStoreUnavailableError if it did not answer in time; OtherLogError
 */
const reach = async (copy: HeldCopy, livePosition: Position): Promise<Position> => {
  const late = AbortSignal.timeout(ANSWER_MS_MAX);
  const signal = AbortSignal.any([copy.signal, late]);
  const endMs = performance.now() + BLOCKED_MS_MAX;
  try {
    await abortable(requireLog(copy.store, livePosition), signal);
    return (await fillCopy({ ...copy, signal }, livePosition, () => performance.now() > endMs)).position;
  } catch (error) {
    if (!late.aborted || copy.signal.aborted) throw error;
    throw new EventStoreUnavailableError('the event store does not answer in time', { cause: error });
  }
};

const staleCopy = ({ name }: Projection, reached: Position, livePosition: Position): StaleCopyError =>
  new StaleCopyError(
    `the copy of ${name} is at ${reached}, and the live read model, which was reset meanwhile, at ${livePosition}: run it again`,
  );

const lockLiveCheckpoint = async (copy: HeldCopy): Promise<Position> => {
  const { guard, projection } = copy;
  await guard.query(`set local lock_timeout = ${LOCK_TRY_MS}`);
  await guard.query('savepoint before_lock');
  const endMs = performance.now() + LOCK_WAIT_MS_MAX;
  for (;;) {
    try {
      const { rows } = await guard.query<{ position: Position }>(
        'select position from projection_checkpoints where name = $1 for update',
        [projection.name],
      );
      const [row] = rows;
      if (row === undefined) throw new Error(`the checkpoint of ${projection.name} was removed`);
      return row.position;
    } catch (error) {
      const isHeld = error instanceof DatabaseError && error.code === LOCK_NOT_AVAILABLE;
      if (!isHeld || performance.now() > endMs) throw error;
      await guard.query('rollback to savepoint before_lock');
      copy.signal.throwIfAborted();
    }
  }
};
