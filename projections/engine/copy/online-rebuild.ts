import type { Client } from 'pg';
import {
  LogGapError,
  START,
  type EventStore,
  type Position,
} from '../../../shared/event-store/event-store.ts';
import type { Logger } from 'pino';
import { createPool } from '../../../shared/postgres/pool.ts';
import { openCheckpoint } from '../checkpoint.ts';
import type { Projection } from '../projection.ts';
import { cancelOnAbort, workingName } from './cancel-statements.ts';
import { compareCopy, type ReadModelComparison } from './compare-copy.ts';
import { allOf, copySchemaOf, quoted, quotedTable } from './copy-schema.ts';
import { beginCopy, connectCopy, copyTimeouts, dropCopy, holdCopy, inTransactionOf } from './copy-state.ts';
import { fillCopy } from './fill-copy.ts';
import type { HeldCopy } from './meet-live.ts';
import { retryWhileUnavailable, identityOf, OtherLogError, requireLog } from './same-log.ts';
import { switchCopy } from './switch-copy.ts';

export interface OnlineOptions {
  readonly databaseUrl: string;
  readonly store: EventStore;
  readonly log: Logger;
  /** A copy by another version of the program is restarted. */
  readonly program: string;
  /** The program's: it builds nothing on a newer schema. */
  readonly migrations: readonly string[];
  /** Aborting it leaves the live read model unchanged and drops the copy. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: { readonly events: number; readonly fraction: number }) => void;
  /** Differences for each table. Default 20. */
  readonly shownMax?: number;
}

export interface OnlineRebuild extends ReadModelComparison {
  readonly resumed: boolean;
}

const SHOWN_MAX = 20;

/** Other read models cannot be made of the log alone: they are left as they are. */
export const isRebuildable = ({ tables }: Projection): boolean => tables.length > 0;

/**
 * Rebuilds and replaces the read model while the live one serves. After a failure the next run continues the
 * copy; after an abort it is dropped.
 * @param allowParked also replaces it by a copy with parked streams that the live one has applied
 * @returns the differences of the live one, just before the switch
 * @throws CopyBusyError, OtherLogError, SwitchRefusedError; database errors: nothing has changed
 */
export const rebuildOnline = (
  options: OnlineOptions,
  projection: Projection,
  allowParked = false,
): Promise<OnlineRebuild> =>
  withCopy(options, projection, async (copy, resumed) => {
    const comparison = await compareCopy(copy, options.shownMax ?? SHOWN_MAX, () => vacuumCopy(copy));
    await switchCopy(copy, allowParked);
    return { ...comparison, resumed };
  });

/** Compares and drops the copy. @throws CopyBusyError, OtherLogError; any database error */
export const verifyOnline = (options: OnlineOptions, projection: Projection): Promise<OnlineRebuild> =>
  withCopy(options, projection, async (copy, resumed) => {
    const comparison = await compareCopy(copy, options.shownMax ?? SHOWN_MAX);
    await inTransactionOf(copy.guard, () => dropCopy(copy.guard, projection.name));
    return { ...comparison, resumed };
  });

/** Drops the copy of a killed run. @returns true if a copy existed @throws CopyBusyError if the run is still alive */
export const cancelOnline = async (databaseUrl: string, projection: string): Promise<boolean> => {
  const guard = await connectCopy(databaseUrl);
  try {
    await holdCopy(guard, projection);
    return await inTransactionOf(guard, () => dropCopy(guard, projection));
  } finally {
    await guard.end();
  }
};

const withCopy = async <T>(
  options: OnlineOptions,
  projection: Projection,
  work: (copy: HeldCopy, resumed: boolean) => Promise<T>,
): Promise<T> => {
  const { databaseUrl, signal } = options;
  signal.throwIfAborted();
  const guard = await connectCopy(databaseUrl);
  try {
    // Before this, the copy may belong to another process.
    await holdCopy(guard, projection.name);
    try {
      return await makeCopy(options, projection, guard, work);
    } catch (error) {
      if (!signal.aborted) throw error;
      await inTransactionOf(guard, () => dropCopy(guard, projection.name));
      throw signal.reason;
    }
  } catch (error) {
    throw error instanceof LogGapError ? new OtherLogError(error.message, { cause: error }) : error;
  } finally {
    await guard.end().catch(() => undefined);
  }
};

const makeCopy = async <T>(
  options: OnlineOptions,
  projection: Projection,
  guard: Client,
  work: (copy: HeldCopy, resumed: boolean) => Promise<T>,
): Promise<T> => {
  const { databaseUrl, store, signal } = options;
  const { position } = await openCheckpoint(guard, projection.name);
  await retryWhileUnavailable(() => requireLog(store, position), signal);
  const log = await retryWhileUnavailable(() => identityOf(store), signal);
  const maker = { program: options.program, migrations: options.migrations, log };
  const resumed = await beginCopy(guard, projection, maker, position);
  const pool = createPool(
    {
      connectionString: databaseUrl,
      applicationName: workingName(projection.name),
      max: 2,
      asyncCommit: true,
      system: true,
      timeouts: copyTimeouts,
      // Only this schema: a table that the projection does not list is not found.
      searchPath: quoted(copySchemaOf(projection.name)),
    },
    options.log,
  );
  const onCommit = progressOf(options, position);
  const copy = { projection, store, pool, guard, databaseUrl, signal, onCommit, maker };
  const stop = cancelOnAbort(guard, projection.name, signal);
  try {
    await fillCopy(copy, position);
    return await work(copy, resumed);
  } catch (error) {
    if (signal.aborted || (await isThere(copy))) throw error;
    throw new CopyGoneError(`the copy of ${projection.name} was dropped meanwhile: run it again`, {
      cause: error,
    });
  } finally {
    await stop();
    await pool.end();
  }
};

/** A process that changes rows without an event, e.g. an erasure, dropped the copy. */
class CopyGoneError extends Error {
  override readonly name = 'CopyGoneError';
}

/** True if unknown, because the guard's connection is lost. */
const isThere = ({ guard, projection }: HeldCopy): Promise<boolean> =>
  // The lock waits for a process that is about to drop the copy.
  guard.query('select from read_model_copies where name = $1 for key share', [projection.name]).then(
    ({ rowCount }) => rowCount !== 0,
    () => true,
  );

/** For statistics and the visibility map. Truncating would wait 5 s for the comparison's reads. */
const vacuumCopy = async ({ pool, projection }: HeldCopy): Promise<void> => {
  const schema = copySchemaOf(projection.name);
  await allOf(
    projection.tables.map((table) =>
      pool.query(`vacuum (analyze, truncate false) ${quotedTable({ schema, table })}`),
    ),
  );
};

const progressOf = ({ store, onProgress }: OnlineOptions, target: Position): HeldCopy['onCommit'] => {
  const whole = store.distance(START, target);
  let events = 0;
  return ({ position }, applied) => {
    events += applied;
    onProgress({
      events,
      fraction: whole <= 0 ? 1 : Math.min(1, store.distance(START, position) / whole),
    });
  };
};
