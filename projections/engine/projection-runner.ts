import type { Pool } from 'pg';
import { backoffMs, sleep } from '../../shared/async/backoff.ts';
import {
  LogGapError,
  START,
  type EventBatch,
  type EventStore,
  type Position,
} from '../../shared/event-store/event-store.ts';
import type { Logger } from 'pino';
import { withChildSignal } from './child-signal.ts';
import { CheckpointMovedError, openCheckpoint, type Checkpoint } from './checkpoint.ts';
import { commitBatch, type CommittedBatch } from './commit-batch.ts';
import { errorText } from './projection-failure.ts';
import type { PassOver } from './move-checkpoints.ts';
import type { Projection } from './projection.ts';
import { readAhead } from '../../shared/async/read-ahead.ts';

export interface RunnerOptions {
  readonly projection: Projection;
  readonly store: Pick<EventStore, 'subscribeToAll'>;
  /** Commits need not wait for the disk: a crash loses rows and checkpoint only together. */
  readonly pool: Pool;
  readonly log: Logger;
  readonly onCommit: (batch: CommittedBatch) => void;
  readonly passOver?: PassOver;
  /** Runs the reading of the checkpoint at a start. Default: at once. */
  readonly opening?: (read: () => Promise<Checkpoint>) => Promise<Checkpoint>;
  readonly recheckMs?: number;
  /** Must return early when aborted. Default: by the wall clock. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

export type RunnerState =
  | 'stopped'
  | 'catching-up'
  | 'live'
  /** At least three failures in a row; it keeps trying. */
  | 'retrying'
  /** The log ends before the checkpoint, or has a gap: continuing would skip events. */
  | 'log-gap';

export interface RunnerReport {
  readonly state: RunnerState;
  readonly position: Position;
  readonly error?: string;
}

export interface ProjectionRunner {
  readonly report: RunnerReport;
  /** Ends after the transaction that runs at the abort. Never throws. Not to be called again before that. */
  run(signal: AbortSignal): Promise<void>;
}

const BATCH_SIZE_MAX = 1_000;
const RETRY = { baseMs: 50, capMs: 2_000 };
const RECHECK_MS = 5_000;
const FAILURES_UNTIL_REPORTED = 3;

const atOnce = (read: () => Promise<Checkpoint>): Promise<Checkpoint> => read();

/** All state is in the database, so the process may be killed at any point. */
export const createProjectionRunner = (options: RunnerOptions): ProjectionRunner => {
  const { projection, store, pool, onCommit, recheckMs = RECHECK_MS, pause = sleep } = options;
  const log = options.log.child({ projection: projection.name });
  let report: RunnerReport = { state: 'stopped', position: START };
  let failures = 0;
  /** Halved by a failure, doubled by a success: a batch that exceeds the timeout succeeds in parts. */
  let batchSize = BATCH_SIZE_MAX;

  const commit = async (checkpoint: Checkpoint, batch: EventBatch) => {
    const committed = await commitBatch(pool, projection, checkpoint, batch, options.passOver);
    failures = 0;
    for (const { event, error } of committed.parked) {
      const { position, stream, revision, type } = event;
      log.error({ position, stream, revision, type, reason: errorText(error) }, 'stream parked');
    }
    report = { state: batch.caughtUp ? 'live' : 'catching-up', position: committed.checkpoint.position };
    onCommit(committed);
    return committed.checkpoint;
  };

  const follow = async ({ signal }: AbortController): Promise<void> => {
    let checkpoint = await (options.opening ?? atOnce)(() => openCheckpoint(pool, projection.name));
    report = { ...report, position: checkpoint.position };
    const batches = store.subscribeToAll({
      after: checkpoint.position,
      filter: { categories: projection.categories, having: projection.having },
      batchSize,
      signal,
    });
    for await (const batch of readAhead(batches, ({ caughtUp }) => !caughtUp)) {
      checkpoint = await commit(checkpoint, batch);
      if (signal.aborted) return;
      if (batchSize < BATCH_SIZE_MAX) {
        batchSize = Math.min(BATCH_SIZE_MAX, batchSize * 2);
        return;
      }
    }
    if (!signal.aborted) throw new Error('the subscription ended');
  };

  const onFailure = async (error: unknown, signal: AbortSignal): Promise<void> => {
    if (error instanceof LogGapError) {
      report = { ...report, state: 'log-gap', error: errorText(error) };
      log.error(
        { err: error, position: report.position },
        'the log does not match the checkpoint: projection stopped',
      );
      return pause(recheckMs, signal);
    }
    failures += 1;
    if (!(error instanceof CheckpointMovedError)) batchSize = Math.max(1, Math.floor(batchSize / 2));
    if (failures >= FAILURES_UNTIL_REPORTED) {
      report = { ...report, state: 'retrying', error: errorText(error) };
    }
    log.warn({ err: error, failures }, 'batch failed, retrying');
    return pause(backoffMs(failures, RETRY), signal);
  };

  return {
    get report() {
      return report;
    },
    run: async (signal) => {
      report = { state: 'catching-up', position: report.position };
      while (!signal.aborted) {
        try {
          await withChildSignal(signal, follow);
        } catch (error) {
          if (!signal.aborted) await onFailure(error, signal);
        }
      }
      report = { state: 'stopped', position: report.position };
    },
  };
};
