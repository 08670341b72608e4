import type { Pool } from 'pg';
import { START, type EventStore, type Position } from '../../shared/event-store/event-store.ts';
import { advisoryLocks } from '../../shared/postgres/advisory-locks.ts';
import { lockKeyOf } from './leadership.ts';
import type { ParkedStream } from './parked-streams.ts';
import type { RunnerReport } from './projection-runner.ts';

export interface ProjectionStatus {
  readonly name: string;
  /** This process runs it. */
  readonly leading: boolean;
  /** Some process runs it. */
  readonly led: boolean;
  readonly position: Position;
  readonly epoch: number;
  /**
   * What of the log it has not considered yet: events, or bytes of the log where the store has no figure of events
   * (`EventStore.distanceUnit`). Negative when the log does not reach the checkpoint.
   */
  readonly lagEvents?: number;
  readonly lagBytes?: number;
  readonly parkedStreams: number;
  /** As its leader knows it; `standby` in every other process. */
  readonly state: RunnerReport['state'] | 'standby';
  readonly error?: string;
}

export interface ProjectionsReadiness {
  /** Every read model is run by some process that gets on, and none is far behind. */
  readonly ready: boolean;
  /** Streams were left out: part of the data is stale, all the rest is served. Does not make it not ready. */
  readonly degraded: boolean;
  /** For the answer of `/ready`: nothing of an event's content. */
  readonly projections: readonly ProjectionStatus[];
  /** The first 20. */
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

/** One row a read model, whoever runs it. `pg_locks` tells which locks of this database are held. */
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

/** @param reports what this process knows of the read models that it runs; undefined for those that it does not */
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
  // After the checkpoints: read before them, it could be behind one that is right.
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

/** Reads of a read model that is further behind are not worth serving; 1 KiB counts as one where only bytes are known. */
export const LAG_EVENTS_MAX = 10_000;

/** What stands for one event where only bytes are known. */
const BYTES_PER_EVENT = 1_024;

/** Whether reads of this read model are worth serving. */
export const isReady = (
  { led, lagEvents, lagBytes, state }: ProjectionStatus,
  lagEventsMax: number,
): boolean => {
  const lag = lagEvents ?? (lagBytes ?? 0) / BYTES_PER_EVENT;
  return led && lag >= 0 && lag <= lagEventsMax && state !== 'retrying' && state !== 'log-gap';
};
