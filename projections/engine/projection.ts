import type { ClientBase } from 'pg';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import type { Comparison } from './comparison.ts';

/**
 * One read model: the events it uses, and how a batch of them becomes rows. The engine (`projection-runner.ts`) does
 * the rest: checkpoint, leadership, retries, parking.
 */
export interface Projection {
  /** Unique and stable: names the checkpoint and the leadership lock. */
  readonly name: string;
  /** The tables that only this projection writes; a rebuild empties them. */
  readonly tables: readonly string[];
  /**
   * Kinds of entries that it alone asks for on the shared list of work (`shared/work-list`). Workers write them, too, so
   * they are neither compared nor exchanged when a copy of the read model takes its place.
   */
  readonly work?: readonly string[];
  /** How rows of its tables are compared with those of a copy. Default: all of them, by their primary key. */
  readonly compared?: Readonly<Record<string, Comparison>>;
  /** Additional work of a rebuild, in its transaction. */
  forget?(client: ClientBase): Promise<void>;
  /** Stream categories that the read model uses; other events only move the checkpoint. */
  readonly categories: readonly string[];
  /**
   * Applies events inside the engine's transaction, in order. Must be idempotent: an event whose revision a row
   * already has changes nothing. Must be set-based: one call may contain thousands of events of thousands of streams.
   * Must name tables without a schema, because `copy/` uses another one.
   * @throws UnprojectableEventError for an event that can never be applied (unknown type or version, a gap in its
   * stream's revisions); any database error
   */
  apply(client: ClientBase, events: readonly RecordedEvent[]): Promise<void>;
}

/** A count of zero may have a row or none. */
export const nonZeroCounts: Comparison = { where: 'count <> 0' };

/** The event can never become a row: its stream is parked, all others continue. */
export class UnprojectableEventError extends Error {
  override readonly name = 'UnprojectableEventError';

  constructor(
    { type, stream, revision, position }: Pick<RecordedEvent, 'type' | 'stream' | 'revision' | 'position'>,
    reason: string,
  ) {
    super(`${type} at ${position} (${stream}@${revision}): ${reason}`);
  }
}
