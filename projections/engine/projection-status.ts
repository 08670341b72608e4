import type { Pool } from 'pg';
import { START, type EventStore, type Position } from '../../shared/event-store/event-store.ts';
import { advisoryLocks } from '../../shared/postgres/advisory-locks.ts';
import { lockKeyOf } from './leadership.ts';
import type { ParkedStream } from './parked-streams.ts';
import type { RunnerReport } from './projection-runner.ts';

export interface ProjectionStatus {
  readonly name: string;
  readonly leading: boolean;
  readonly led: boolean;
  readonly position: Position;
  readonly epoch: number;
  /** Bytes of the log if the store cannot count events (`distanceUnit`). Negative: the log ends before. */
  readonly lagEvents?: number;
  readonly lagBytes?: number;
  readonly parkedStreams: number;
  /** The leader's state; `standby` in every other process. */
  readonly state: RunnerReport['state'] | 'standby';
  readonly error?: string;
}

export interface ProjectionsReadiness {
  readonly ready: boolean;
  /** Parked streams have stale data, all other data is served: it stays ready. */
  readonly degraded: boolean;
  readonly projections: readonly ProjectionStatus[];
  readonly parked: readonly Pick<
    ParkedStream,
    'projection' | 'stream' | 'position' | 'revision' | 'eventType' | 'attempts'
  >[];
}

interface Row {
  readonly name: string;
  readonly led: boolean;
  readonly position: Position | null;
  readonly epoch: number | null;
  readonly parked: number;
}

const statusSql = `
  select wanted.name, checkpoint.position, checkpoint.epoch,
    (select count(*)::int from parked_streams p where p.projection = wanted.name) as parked,
    exists (
      select from pg_locks held
      where held.locktype = 'advisory' and held.objsubid = 2 and held.granted
        and held.classid = $3::int::oid and held.objid = wanted.key::oid
        and held.database = (select oid from pg_database where datname = current_database())
    ) as led
  from unnest($1::text[], $2::int[]) as wanted (name, key)
  left join projection_checkpoints checkpoint on checkpoint.name = wanted.name`;

/** @param reports the runners of this process; undefined for read models that it does not lead */
export const readStatus = async (
  pool: Pool,
  store: Pick<EventStore, 'head' | 'distance' | 'distanceUnit'>,
  reports: ReadonlyMap<string, RunnerReport | undefined>,
): Promise<readonly ProjectionStatus[]> => {
  const names = [...reports.keys()];
  const { rows } = await pool.query<Row>({
    name: 'projection-status',
    text: statusSql,
    values: [names, names.map(lockKeyOf), advisoryLocks.projections],
  });
  // Read after the checkpoints: an earlier head could be before a correct checkpoint.
  const head = await store.head();
  return rows.map(({ name, led, position, epoch, parked }) => {
    const report = reports.get(name);
    const lag = store.distance(position ?? START, head);
    return {
      name,
      leading: report !== undefined,
      led,
      position: position ?? START,
      epoch: epoch ?? 0,
      ...(store.distanceUnit === 'events' ? { lagEvents: lag } : { lagBytes: lag }),
      parkedStreams: parked,
      state: report?.state ?? 'standby',
      ...(report?.error !== undefined && { error: report.error }),
    };
  });
};

/** 1 KiB counts as one event if only bytes are known. */
export const LAG_EVENTS_MAX = 10_000;

const BYTES_PER_EVENT = 1_024;

export const isReady = (
  { led, lagEvents, lagBytes, state }: ProjectionStatus,
  lagEventsMax: number,
): boolean => {
  const lag = lagEvents ?? (lagBytes ?? 0) / BYTES_PER_EVENT;
  return led && lag >= 0 && lag <= lagEventsMax && state !== 'retrying' && state !== 'log-gap';
};
