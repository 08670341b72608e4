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
import { copySchemaOf, quoted, quotedTable } from './copy-schema.ts';
import { beginCopy, connectCopy, copyTimeouts, dropCopy, holdCopy, inTransactionOf } from './copy-state.ts';
import { fillCopy } from './fill-copy.ts';
import type { HeldCopy } from './meet-live.ts';
import { askedAgain, identityOf, OtherLogError, requireLog } from './same-log.ts';
import { switchCopy } from './switch-copy.ts';

/**
 * Rebuilds, or verifies, read models beside the live ones while the service runs
 * (docs/records/0007-online-rebuild.md).
 */

export interface OnlineOptions {
  readonly databaseUrl: string;
  readonly store: EventStore;
  readonly log: Logger;
  /** What makes the rows: a copy that another program began is begun anew. */
  readonly program: string;
  /** Names of the migrations that the program knows: over a newer schema nothing is made. */
  readonly migrations: readonly string[];
  /** Ends the work: the live read model is as it was, and the copy is dropped. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: { readonly events: number; readonly fraction: number }) => void;
  /** Differences of each table that are told one by one. Default 20. */
  readonly shownMax?: number;
}

export interface OnlineRebuild extends ReadModelComparison {
  /** It went on with what an earlier run had left. */
  readonly resumed: boolean;
}

const SHOWN_MAX = 20;

/** True for a read model that can be made of the log alone: of the others all is left as it is. */
export const isRebuildable = ({ tables }: Projection): boolean => tables.length > 0;

/**
 * Makes the read model anew beside the live one and puts it in its place.
 * @param allowParked also when it leaves out streams that the live one has
 * @returns how the live one differed from it, just before
 * @throws CopyBusyError, OtherLogError, SwitchRefusedError; any database error. The live read model is then as it was;
 *   the copy stays, and the next run goes on with it. With `signal` its reason, and the copy is dropped.
 */
export const rebuildOnline = (
  options: OnlineOptions,
  projection: Projection,
  allowParked = false,
): Promise<OnlineRebuild> =>
  withCopy(options, projection, async (copy, resumed) => {
    const comparison = await compareCopy(copy, options.shownMax ?? SHOWN_MAX, () => makeKnown(copy));
    await switchCopy(copy, allowParked);
    // What is left is of no use, and in nobody's way should this fail: the switch was made.
    await inTransactionOf(copy.guard, () => dropCopy(copy.guard, projection.name)).catch(() => undefined);
    return { ...comparison, resumed };
  });

/**
 * Makes the read model anew beside the live one, compares the two, and drops the copy.
 * @throws CopyBusyError, OtherLogError; any database error
 */
export const verifyOnline = (options: OnlineOptions, projection: Projection): Promise<OnlineRebuild> =>
  withCopy(options, projection, async (copy, resumed) => {
    const comparison = await compareCopy(copy, options.shownMax ?? SHOWN_MAX);
    await inTransactionOf(copy.guard, () => dropCopy(copy.guard, projection.name));
    return { ...comparison, resumed };
  });

/**
 * Drops what a run has left that was killed.
 * @returns whether there was anything
 * @throws CopyBusyError when it was not killed
 */
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
    // Before that, what there is may be another process's.
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
  await askedAgain(() => requireLog(store, position), signal);
  const log = await askedAgain(() => identityOf(store), signal);
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
      // Nothing else: a table that the projection does not list is not found, where it would be the live one.
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

/** Somebody who changes rows without an event, as whoever forgets persons, has taken the copy away. */
class CopyGoneError extends Error {
  override readonly name = 'CopyGoneError';
}

/** Of a guard that is lost nothing is known. */
const isThere = ({ guard, projection }: HeldCopy): Promise<boolean> =>
  // Whoever is about to take it away is waited for.
  guard.query('select from read_model_copies where name = $1 for key share', [projection.name]).then(
    ({ rowCount }) => rowCount !== 0,
    () => true,
  );

/**
 * To the planner and to its index-only scans. Rows that a snapshot does not see stay unknown to those. Pages that Postgres
 * has added ahead stay: to take them away it waits for whoever reads the table, 5 s, and the comparison does.
 */
const makeKnown = async ({ pool, projection }: HeldCopy): Promise<void> => {
  const schema = copySchemaOf(projection.name);
  for (const table of projection.tables)
    await pool.query(`vacuum (analyze, truncate false) ${quotedTable({ schema, table })}`);
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
