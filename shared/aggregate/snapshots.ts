import type { Pool } from 'pg';
import type { Position } from '../event-store/event-store.ts';
import type { Logger } from 'pino';

export interface Snapshot {
  readonly revision: number;
  readonly position: Position;
  readonly state: unknown;
}

/** Derived data: losing snapshots costs only time. */
export interface SnapshotStore {
  readonly every: number;
  load(stream: string, foldVersion: number): Promise<Snapshot | undefined>;
  /** In the background, unless a newer snapshot is stored. A failure is only logged. */
  save(stream: string, foldVersion: number, snapshot: Snapshot): void;
}

const EVERY = 200;

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
      .catch((error: unknown) => log.warn({ err: error, stream }, 'a snapshot could not be saved'));
  },
});
