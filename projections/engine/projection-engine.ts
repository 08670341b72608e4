import pLimit from 'p-limit';
import type { ClientConfig, Pool } from 'pg';
import type { Registry } from 'prom-client';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { Logger } from 'pino';
import { connectionConfig } from '../../shared/postgres/pool.ts';
import { SERVICE_CONNECTION } from '../../shared/postgres/running-services.ts';
import type { ProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import { startLeadership } from './leadership.ts';
import { listParked } from './parked-streams.ts';
import { registerProjectionMetrics } from './projection-metrics.ts';
import { createCheckpointMover } from './move-checkpoints.ts';
import { createProjectionRunner } from './projection-runner.ts';
import type { Projection } from './projection.ts';
import {
  isReady,
  LAG_EVENTS_MAX,
  readStatus,
  type ProjectionsReadiness,
  type ProjectionStatus,
} from './projection-status.ts';

export interface ProjectionsOptions {
  readonly projections: readonly Projection[];
  readonly store: EventStore;
  /** Must reach Postgres itself, not a transaction pooler. */
  readonly connectionString: string;
  /** One connection a read model, and one more. `asyncCommit` is safe: a crash loses rows with checkpoint. */
  readonly pool: Pool;
  readonly log: Logger;
  readonly registry?: Registry;
  readonly progress?: ProjectionProgress;
  /** Notified after commits with something new for workers. */
  readonly changes?: ProjectionProgress;
  /** False: only reports status. Default true. */
  readonly lead?: boolean;
  /** A larger lag is not ready; 1 KiB counts as one event if only bytes are known. Default 10,000. */
  readonly lagEventsMax?: number;
  readonly recheckMs?: number;
}

export interface Projections {
  /** Led by any process; at most 250 ms old. @throws database errors */
  status(): Promise<readonly ProjectionStatus[]>;
  /** The part `projections` of `/ready`. @throws database errors */
  readiness(): Promise<ProjectionsReadiness>;
  stop(): Promise<void>;
}

const STATUS_TTL_MS = 250;
const PARKED_SHOWN_MAX = 20;

/**
 * All read models start at the same time. If each read its checkpoint on a separate connection, a start would open one for
 * each of them, of which most are not needed until there are events.
 */
const OPENINGS_AT_ONCE_MAX = 4;

/** Stands by for read models that another process leads. Retries while the database is unavailable. */
export const startProjections = (options: ProjectionsOptions): Projections => {
  const { projections, store, pool, log, registry, progress, changes } = options;
  const { lagEventsMax = LAG_EVENTS_MAX } = options;
  const names = projections.map(({ name }) => name);
  if (new Set(names).size !== names.length)
    throw new Error(`read models must have unique names: ${names.join()}`);
  const passOver = createCheckpointMover(pool);
  const opening = pLimit(OPENINGS_AT_ONCE_MAX);
  const runners = new Map(
    projections.map((projection) => [
      projection.name,
      createProjectionRunner({
        projection,
        store,
        pool,
        log,
        passOver,
        opening,
        onCommit: ({ applied, isNews }) => {
          metrics?.applied(projection.name, applied);
          progress?.advanced(projection.name);
          if (isNews) changes?.advanced(projection.name);
        },
        ...(options.recheckMs !== undefined && { recheckMs: options.recheckMs }),
      }),
    ]),
  );
  const leadership = startLeadership({
    config: leadershipConfig(options.connectionString),
    names: options.lead === false ? [] : names,
    lead: async (name, signal) => runners.get(name)?.run(signal),
    log,
  });
  const status = keepFor(STATUS_TTL_MS, () =>
    readStatus(
      pool,
      store,
      new Map(
        [...runners].map(([name, runner]) => [name, leadership.isLeading(name) ? runner.report : undefined]),
      ),
    ),
  );
  const metrics = registry && registerProjectionMetrics(registry, status, store.distanceUnit);

  return {
    status,
    readiness: async () => {
      const statuses = await status();
      const degraded = statuses.some(({ parkedStreams }) => parkedStreams > 0);
      return {
        ready: statuses.every((one) => isReady(one, lagEventsMax)),
        degraded,
        projections: statuses,
        parked: degraded ? await parkedShown(pool) : [],
      };
    },
    stop: async () => {
      await leadership.close();
      metrics?.remove();
    },
  };
};

const leadershipConfig = (connectionString: string): ClientConfig =>
  connectionConfig({ connectionString, applicationName: SERVICE_CONNECTION });

const parkedShown = async (pool: Pool): Promise<ProjectionsReadiness['parked']> =>
  (await listParked(pool, { limit: PARKED_SHOWN_MAX })).map((one) => ({
    projection: one.projection,
    stream: one.stream,
    position: one.position,
    revision: one.revision,
    eventType: one.eventType,
    attempts: one.attempts,
  }));

/** Any number of probes and scrapes costs the database the same. */
const keepFor = <T>(ttlMs: number, read: () => Promise<T>): (() => Promise<T>) => {
  let answer: Promise<T> | undefined;
  let readMs = 0;
  return () => {
    const nowMs = performance.now();
    if (answer === undefined || nowMs - readMs > ttlMs) {
      readMs = nowMs;
      answer = read();
      answer.catch(() => {
        answer = undefined;
      });
    }
    return answer;
  };
};
