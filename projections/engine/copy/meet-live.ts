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
import { askedAgain, requireLog } from './same-log.ts';

/** A read model's copy that this process holds. */
export interface HeldCopy extends FillOptions {
  readonly projection: Projection;
  readonly store: EventStore;
  /** Finds the live tables, holds the copy, and now and then the live read model's fence. */
  readonly guard: Client;
  readonly databaseUrl: string;
  /** What made it, or goes on with it. */
  readonly maker: Maker;
}

/** The copy is not one of the live read model that is there now. */
class StaleCopyError extends Error {
  override readonly name = 'StaleCopyError';
}

/** The live read model waits for so long at most, one batch aside, while the copy takes its last steps. */
const FENCE_MS_MAX = 500;
/** The same of the event store's answers: with a read's own time that is less than reads wait (2 s). */
const ANSWER_MS_MAX = 1_500;
/** Of tries that the event store did not answer in time. */
const UNANSWERED_MAX = 20;
/** As long as it is waited for: a retry of a long parked stream has it. */
const FENCE_WAIT_MS_MAX = 60_000;
/** At a time, so that whoever interrupts does not wait for it, too. */
const FENCE_TRY_MS = 500;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Brings the copy to the live read model's checkpoint and runs `work` while both stand there: in the transaction of the
 * copy's guard, which holds the live checkpoint's row. The live runner, and who retries a parked stream, begin with that
 * row: none of them changes anything meanwhile, and none is at anything when the row is had.
 *
 * Of what comes while the copy catches up there may be much: it is applied before the row is taken, and the rest behind
 * it. Is there too much of that, the row is given up again, so that the live read model's lag stays small.
 * @throws OtherLogError when the log does not reach that far; EventStoreUnavailableError; StaleCopyError when the live read model was reset meanwhile
 */
export const meetLive = async <T>(copy: HeldCopy, work: (position: Position) => Promise<T>): Promise<T> => {
  const { guard, projection } = copy;
  for (let triesLeft = UNANSWERED_MAX; ;) {
    copy.signal.throwIfAborted();
    const { position } = await openCheckpoint(guard, projection.name);
    await askedAgain(() => requireLog(copy.store, position), copy.signal);
    await fillCopy(copy, position);
    const met = await inTransactionOf(guard, async () => {
      const fenced = await takeFence(copy);
      const reached = await reach(copy, fenced).catch((error: unknown) => {
        if (!(error instanceof EventStoreUnavailableError) || (triesLeft -= 1) <= 0) throw error;
        return START;
      });
      const ahead = comparePositions(reached, fenced);
      if (ahead > 0) throw staleCopy(projection, reached, fenced);
      return ahead < 0 ? undefined : { result: await work(fenced) };
    });
    if (met !== undefined) return met.result;
  }
};

/**
 * Brings the copy to the live read model's position while that is held: as far as it comes in the time. A store that does
 * not answer meanwhile keeps nobody waiting for it.
 * @throws EventStoreUnavailableError when it did not answer in time; OtherLogError
 */
const reach = async (copy: HeldCopy, fenced: Position): Promise<Position> => {
  const late = AbortSignal.timeout(ANSWER_MS_MAX);
  const signal = AbortSignal.any([copy.signal, late]);
  const endMs = performance.now() + FENCE_MS_MAX;
  try {
    await abortable(requireLog(copy.store, fenced), signal);
    return (await fillCopy({ ...copy, signal }, fenced, () => performance.now() > endMs)).position;
  } catch (error) {
    if (!late.aborted || copy.signal.aborted) throw error;
    throw new EventStoreUnavailableError('the event store does not answer in time', { cause: error });
  }
};

const staleCopy = ({ name }: Projection, reached: Position, fenced: Position): StaleCopyError =>
  new StaleCopyError(
    `the copy of ${name} is at ${reached}, and the live read model, which was reset meanwhile, at ${fenced}: run it again`,
  );

const takeFence = async (copy: HeldCopy): Promise<Position> => {
  const { guard, projection } = copy;
  await guard.query(`set local lock_timeout = ${FENCE_TRY_MS}`);
  await guard.query('savepoint fence');
  const endMs = performance.now() + FENCE_WAIT_MS_MAX;
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
      await guard.query('rollback to savepoint fence');
      copy.signal.throwIfAborted();
    }
  }
};
