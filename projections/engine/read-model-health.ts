import type { Pool } from 'pg';
import { START, type EventStore, type Position } from '../../shared/event-store/event-store.ts';
import { advisoryLocks } from '../../shared/postgres/advisory-locks.ts';
import { copySchemaOf, quoted } from './copy/copy-schema.ts';
import { lockKeyOf } from './leadership.ts';
import type { Projection } from './projection.ts';
import { isReady, LAG_EVENTS_MAX, readStatus, type ProjectionStatus } from './projection-status.ts';

/** Being built, or left by an earlier run. */
export interface CopyInProgress {
  readonly heldBy?: CopyHolder;
  readonly position?: Position;
  readonly fraction?: number;
  /** ISO 8601; start of the first run. */
  readonly begunAt?: string;
}

export interface CopyHolder {
  /** Host and process id (`holdingName`). */
  readonly process: string;
  /** As Postgres sees it; undefined over a Unix socket. */
  readonly address?: string;
  readonly connectedAt: string;
}

export type HealthProblem =
  | 'not-run'
  | 'behind'
  /** An older log was restored. */
  | 'log-ends-before'
  | 'parked';

export interface ReadModelHealth {
  readonly readModel: string;
  readonly position: Position;
  readonly epoch: number;
  /** The same for all read models. */
  readonly head: Position;
  readonly led: boolean;
  readonly lagEvents?: number;
  readonly lagBytes?: number;
  /** Age of the first event that it has not applied; else 0. */
  readonly lagSeconds: number;
  readonly parkedStreams: number;
  readonly copy?: CopyInProgress;
  readonly problems: readonly HealthProblem[];
}

/** A server's own events may come first. */
const LOOKED_AT_EVENTS = 10;

/** Writes nothing, waits for no lock. @throws Error for another kind of store; errors of both stores */
export const readHealth = async (
  pool: Pool,
  store: Pick<EventStore, 'head' | 'distance' | 'distanceUnit' | 'readAll'>,
  projections: readonly Projection[],
  nowMs: number,
): Promise<readonly ReadModelHealth[]> => {
  const copies = await copiesOf(pool, projections);
  let head: Position = START;
  const log = {
    head: async () => (head = await store.head()),
    distance: (from: Position, to: Position) => store.distance(from, to),
    distanceUnit: store.distanceUnit,
  };
  const statuses = await readStatus(pool, log, new Map(projections.map(({ name }) => [name, undefined])));
  const secondsOf = lagSeconds(store, nowMs);
  const healths: ReadModelHealth[] = [];
  for (const status of statuses) {
    const { name: readModel, position, epoch, led, parkedStreams, lagEvents, lagBytes } = status;
    const copy = copies.get(readModel);
    healths.push({
      readModel,
      position,
      epoch,
      head,
      led,
      ...(lagEvents === undefined ? { lagBytes: lagBytes ?? 0 } : { lagEvents }),
      lagSeconds: lagOf(status) > 0 ? await secondsOf(position) : 0,
      parkedStreams,
      ...(copy !== undefined && { copy: withFraction(copy, store, position) }),
      problems: problemsOf(status),
    });
  }
  return healths;
};

/** In bytes if the event store numbers no events. */
export const lagOf = ({ lagEvents, lagBytes }: ProjectionStatus): number => lagEvents ?? lagBytes ?? 0;

const problemsOf = (status: ProjectionStatus): readonly HealthProblem[] => [
  ...(status.led ? [] : (['not-run'] as const)),
  ...(lagOf(status) < 0 ? (['log-ends-before'] as const) : []),
  ...(lagOf(status) >= 0 && !isReady({ ...status, led: true }, LAG_EVENTS_MAX) ? (['behind'] as const) : []),
  ...(status.parkedStreams > 0 ? (['parked'] as const) : []),
];

const lagSeconds = (store: Pick<EventStore, 'readAll'>, nowMs: number) => {
  const known = new Map<Position, Promise<number>>();
  const read = async (after: Position): Promise<number> => {
    const [first] = await store.readAll({ after, limit: LOOKED_AT_EVENTS });
    // The remaining events may be the server's own.
    return first === undefined ? 0 : Math.max(0, nowMs - Date.parse(first.recordedAt)) / 1_000;
  };
  return (after: Position): Promise<number> => {
    const seconds = known.get(after) ?? read(after);
    known.set(after, seconds);
    return seconds;
  };
};

const withFraction = (
  copy: CopyInProgress,
  store: Pick<EventStore, 'distance'>,
  live: Position,
): CopyInProgress => {
  if (copy.position === undefined) return copy;
  const whole = store.distance(START, live);
  return {
    ...copy,
    fraction: whole <= 0 ? 1 : Math.min(1, store.distance(START, copy.position) / whole),
  };
};

interface CopyRow {
  readonly name: string;
  readonly begunAt: Date | null;
  readonly process: string | null;
  readonly address: string | null;
  readonly connectedAt: Date | null;
}

/** A copy's lock is held from before its row is written until after it is deleted. */
const copiesSql = `
  with held as (
    select wanted.name, a.application_name as process, host(a.client_addr) as address, a.backend_start
    from unnest($1::text[], $2::int[]) as wanted (name, key)
    join pg_locks l on l.locktype = 'advisory' and l.objsubid = 2 and l.granted
      and l.classid = $3::int::oid and l.objid = wanted.key::oid
      and l.database = (select oid from pg_database where datname = current_database())
    join pg_stat_activity a on a.pid = l.pid
  )
  select coalesce(held.name, made.name) as name, made.begun_at as "begunAt", held.process, held.address,
    held.backend_start as "connectedAt"
  from (select name, begun_at from read_model_copies where name = any($1)) made full join held using (name)`;

const copiesOf = async (
  pool: Pool,
  projections: readonly Projection[],
): Promise<ReadonlyMap<string, CopyInProgress>> => {
  const names = projections.map(({ name }) => name);
  const { rows } = await pool.query<CopyRow>(copiesSql, [
    names,
    names.map(lockKeyOf),
    advisoryLocks.readModelCopies,
  ]);
  const copies = new Map<string, CopyInProgress>();
  for (const { name, begunAt, process, address, connectedAt } of rows) {
    const position = await positionOfCopy(pool, name);
    copies.set(name, {
      ...(connectedAt !== null && {
        heldBy: {
          process: processOf(process ?? ''),
          ...(address !== null && { address }),
          connectedAt: connectedAt.toISOString(),
        },
      }),
      ...(position !== undefined && { position }),
      ...(begunAt !== null && { begunAt: begunAt.toISOString() }),
    });
  }
  return copies;
};

const processOf = (applicationName: string): string => applicationName.replace(/^.* by /, '');

const positionOfCopy = async (pool: Pool, name: string): Promise<Position | undefined> => {
  const table = `${quoted(copySchemaOf(name))}.projection_checkpoints`;
  const { rows: there } = await pool.query<{ there: boolean }>(
    'select to_regclass($1) is not null as there',
    [table],
  );
  if (there[0]?.there !== true) return undefined;
  const { rows } = await pool
    .query<{ position: Position }>(`select position from ${table} where name = $1`, [name])
    .catch(() => ({ rows: [] }));
  return rows[0]?.position;
};
