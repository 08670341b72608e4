import type { ClientBase } from 'pg';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import type { Comparison } from './comparison.ts';

/**
 * One read model: which events it is made of, and how a batch of them becomes rows. The engine
 * (`projection-runner.ts`) does the rest: checkpoint, fence, leadership, retries, parking.
 */
export interface Projection {
  /** Unique and stable: names the checkpoint and the leadership lock. */
  readonly name: string;
  /** The tables that it alone writes: emptied when it is made anew. */
  readonly tables: readonly string[];
  /**
   * Kinds of entries that it alone asks for on the shared list of work (`shared/work-list`). Workers write them, too, so
   * they are neither compared nor exchanged when a copy of the read model takes its place.
   */
  readonly work?: readonly string[];
  /** How rows of its tables are compared with those of a copy. Default: all of them, by their primary key. */
  readonly compared?: Readonly<Record<string, Comparison>>;
  /** What else is done, in the same transaction, when it is made anew. */
  forget?(client: ClientBase): Promise<void>;
  /** Stream categories the read model is made of; everything else is passed over. */
  readonly categories: readonly string[];
  /**
   * Applies events to the read model inside the engine's transaction, in order. Must be idempotent: an
   * event whose revision a row already carries changes nothing. Set-based: one call may bring thousands of
   * events of thousands of streams. Names its tables without a schema: `copy/` has it write elsewhere.
   * @throws UnprojectableEventError for an event that can never be applied (unknown type or version, a gap in
   *   its stream's revisions); any database error is passed on
   */
  apply(client: ClientBase, events: readonly RecordedEvent[]): Promise<void>;
}

/** Counts: a kind of which there is none any more may have a row, or none. */
export const keptCounts: Comparison = { where: 'count <> 0' };

/** This event cannot become a row, now or later: its stream is parked, everything else goes on. */
export class UnprojectableEventError extends Error {
  override readonly name = 'UnprojectableEventError';

  constructor(
    { type, stream, revision, position }: Pick<RecordedEvent, 'type' | 'stream' | 'revision' | 'position'>,
    reason: string,
  ) {
    super(`${type} at ${position} (${stream}@${revision}): ${reason}`);
  }
}
