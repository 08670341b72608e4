import type { ClientBase } from 'pg';
import type { EventFilter, RecordedEvent } from '../../shared/event-store/event-store.ts';
import type { Comparison } from './comparison.ts';

/**
 * `rows`: for a copy. The live read model has requested the work that the events cause. `late`: a stream that was
 * parked; the checkpoint is after these events.
 */
export type Purpose = 'rows' | 'rows and work' | 'late';

/** The engine (`projection-runner.ts`) does the rest: checkpoint, leadership, retries, parking. */
export interface Projection {
  /** Unique and stable: names the checkpoint and the leadership lock. */
  readonly name: string;
  /** Only this projection writes them; a rebuild empties them. */
  readonly tables: readonly string[];
  /** Kinds of work that only this projection requests. Workers write their entries, too, so a rebuild keeps them. */
  readonly work?: readonly string[];
  /** Default: all rows, by their primary key. */
  readonly compared?: Readonly<Record<string, Comparison>>;
  forget?(client: ClientBase): Promise<void>;
  /**
   * For a consumer: its rows have effects outside, so they are kept (`tables` is empty: it is not rebuilt, copied or
   * compared). Called before the first batch from the beginning of the log: of a new installation, after a reset, or
   * because the checkpoint was lost. Must leave rows with which the whole log, applied again, has no effect twice.
   */
  restart?(client: ClientBase): Promise<void>;
  /** Other events only move the checkpoint. */
  readonly categories: readonly string[];
  /** Narrows `categories`: other events of its type only move the checkpoint, too. */
  readonly having?: EventFilter['having'];
  /** The events that change rows. A rebuild reads no others. Default: all of `categories`. */
  readonly rowEvents?: EventFilter;
  /**
   * Idempotent: an event whose revision a row already has changes nothing. Set-based: one call may contain
   * thousands of events. Names tables without a schema, because `copy/` uses another one.
   * @returns false if there is nothing new for workers: they are not woken
   * @throws UnprojectableEventError for an event that can never be applied (unknown version, a gap in its
   *   stream); any database error
   */
  apply(client: ClientBase, events: readonly RecordedEvent[], purpose?: Purpose): Promise<void | false>;
}

/** A count of zero may have a row or none. */
export const nonZeroCounts: Comparison = { where: 'count <> 0' };

/** Its stream is parked, all others continue. */
export class UnprojectableEventError extends Error {
  override readonly name = 'UnprojectableEventError';

  constructor(
    { type, stream, revision, position }: Pick<RecordedEvent, 'type' | 'stream' | 'revision' | 'position'>,
    reason: string,
  ) {
    super(`${type} at ${position} (${stream}@${revision}): ${reason}`);
  }
}
