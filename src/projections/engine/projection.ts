import type { ClientBase } from 'pg';
import type { EventMetadata, Position, RecordedEvent } from '../../shared/event-store/event-store.ts';
import type { Comparison } from './comparison.ts';
import type { ListBlocks } from './blocks/list-blocks.ts';

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
   * Those of `tables` that workers write, too: whose turn it is, what was tried. The log alone does not say what is in
   * them, so they are neither compared nor exchanged when the read model is rebuilt beside the live one.
   */
  readonly workLists?: readonly string[];
  /** How rows of its tables are compared with those of a copy. Default: all of them, by their primary key. */
  readonly compared?: Readonly<Record<string, Comparison>>;
  /** Lists that it counts in blocks, whose tables are among `tables`; `apply` and `bulk` count what they change. */
  readonly blocks?: readonly ListBlocks[];
  /** What else is done, in the same transaction, when it is made anew. */
  forget?(client: ClientBase): Promise<void>;
  /** A quicker way to make the very same rows of a whole log: folded in memory, written seldom. */
  readonly bulk?: () => BulkFolding;
  /** Stream categories the read model is made of; everything else is passed over. */
  readonly categories: readonly string[];
  /** `apply` reads events and copies none member by member: while it is behind they come as `SubscribeOptions.lazy` says. */
  readonly lazy?: boolean;
  /**
   * Applies events to the read model inside the engine's transaction, in order. Must be idempotent: an
   * event whose revision a row already carries changes nothing. Set-based: one call may bring thousands of
   * events of thousands of streams. Names its tables without a schema: `copy/` has it write elsewhere.
   * @throws UnprojectableEventError for an event that can never be applied (unknown type or version, a gap in
   *   its stream's revisions); any database error is passed on
   */
  apply(client: ClientBase, events: readonly RecordedEvent[]): Promise<void>;
}

/** Rows of a read model that are being made in memory. */
export interface BulkFolding {
  /** What it takes of it, about. */
  readonly bytes: number;
  /** Takes in events that come in the order of the log, each once. */
  add(events: readonly RecordedEvent[]): void;
  /**
   * Writes all rows that what was taken in since the last time makes or changes, in the transaction of `client`, and
   * forgets it.
   * @throws UnprojectableEventError as `apply` does: what was taken in is then of no use
   */
  flush(client: ClientBase): Promise<void>;
}

/** What of an event becomes rows; where it stands in the log is none of it. */
export interface ProjectedEvent extends Pick<RecordedEvent, 'type' | 'data' | 'stream' | 'revision'> {
  readonly position?: Position;
  readonly metadata: Pick<EventMetadata, 'occurredAt' | 'schemaVersion'>;
}

/** Counts: a kind of which there is none any more may have a row, or none. */
export const keptCounts: Comparison = { where: 'count <> 0' };

/** This event cannot become a row, now or later: its stream is parked, everything else goes on. */
export class UnprojectableEventError extends Error {
  override readonly name = 'UnprojectableEventError';

  constructor(
    { type, stream, revision, position }: Omit<ProjectedEvent, 'data' | 'metadata'>,
    reason: string,
  ) {
    super(`${type}${position === undefined ? '' : ` at ${position}`} (${stream}@${revision}): ${reason}`);
  }
}
