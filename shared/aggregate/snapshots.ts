import type { Pool } from 'pg';
import type { Position } from '../event-store/event-store.ts';
import type { Logger } from 'pino';

/** A stream folded up to one of its events. */
export interface Snapshot {
  readonly revision: number;
  readonly position: Position;
  readonly state: unknown;
}

/**
 * Folded states of long streams, so that a command on one costs no more as it grows. Derived: losing them all
 * costs time and nothing else.
 */
export interface SnapshotStore {
  /** Events that are folded from the start before a snapshot is asked for, and between one and the next. */
  readonly every: number;
  /** The newest of the stream; undefined when there is none that was made with this version of the fold. */
  load(stream: string, foldVersion: number): Promise<Snapshot | undefined>;
  /** Keeps it in the background, unless a newer one is there. Its failure is logged and harms nobody. */
  save(stream: string, foldVersion: number, snapshot: Snapshot): void;
}

const EVERY = 200;

/** Snapshots in the table `snapshots`, one row a stream. */
export const createSnapshotStore = (pool: Pool, log: Logger, every = EVERY): SnapshotStore => ({
  every,
  load: async (stream, foldVersion) => {
    const { rows } = await pool.query<Omit<Snapshot, 'state'> & { state: string }>({
      name: 'snapshot-load',
      text: `select revision::float8 as revision, position, state from snapshots where stream = $1 and fold_version = $2`,
      values: [stream, foldVersion],
    });
    const [row] = rows;
    return row === undefined ? undefined : { ...row, state: JSON.parse(row.state) as unknown };
  },
  save: (stream, foldVersion, { revision, position, state }) => {
    pool
      .query({
        name: 'snapshot-save',
        text: `insert into snapshots as kept (stream, fold_version, revision, position, state) values ($1, $2, $3, $4, $5)
               on conflict (stream) do update set fold_version = excluded.fold_version,
                 revision = excluded.revision, position = excluded.position, state = excluded.state, saved_at = excluded.saved_at
               where kept.fold_version < excluded.fold_version
                 or kept.fold_version = excluded.fold_version and kept.revision < excluded.revision`,
        values: [stream, foldVersion, revision, position, JSON.stringify(state)],
      })
      .catch((error: unknown) => log.warn({ err: error, stream }, 'a snapshot was not kept'));
  },
});
