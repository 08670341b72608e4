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
import { createMoveTogether } from './move-together.ts';
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
  /** Of the one connection that holds the leadership locks. Must reach Postgres itself, not a transaction pooler. */
  readonly connectionString: string;
  /**
   * For batches and status: one connection a read model at most, and one. Best with `asyncCommit`: rows and
   * checkpoint may be lost together in a crash of the server, and are made again.
   */
  readonly pool: Pool;
  readonly log: Logger;
  readonly registry?: Registry;
  /** Readers in this process, to be woken after every commit. */
  readonly progress?: ProjectionProgress;
  /** Whoever works through rows in this process, to be woken by commits that brought some: not by what is passed over. */
  readonly changes?: ProjectionProgress;
  /** False in a process that is not a projector: it runs none of them, and tells how they are. Default true. */
  readonly lead?: boolean;
  /** Not ready when a read model is further behind; 1 KiB counts as one where only bytes are known. Default 10,000. */
  readonly lagEventsMax?: number;
  /** How soon to look again at a log that does not fit a checkpoint. Default 5 s. */
  readonly recheckMs?: number;
}

export interface Projections {
  /** Of all read models, whoever runs them; at most 250 ms old. @throws what the database throws */
  status(): Promise<readonly ProjectionStatus[]>;
  /** The part `projections` of `/ready`. @throws what the database throws */
  readiness(): Promise<ProjectionsReadiness>;
  /** Ends each runner after its current transaction and gives up leadership. */
  stop(): Promise<void>;
}

const STATUS_TTL_MS = 250;
const PARKED_SHOWN_MAX = 20;

/**
 * Runs those read models that no other process runs already, stands by for the others, and tells how they all
 * are. Returns at once; with the database away it goes on trying.
 */
export const startProjections = (options: ProjectionsOptions): Projections => {
  const { projections, store, pool, log, registry, progress, changes } = options;
  const { lagEventsMax = LAG_EVENTS_MAX } = options;
  const names = projections.map(({ name }) => name);
  if (new Set(names).size !== names.length)
    throw new Error(`read models must have names of their own: ${names.join()}`);
  const passOver = createMoveTogether(pool);
  const runners = new Map(
    projections.map((projection) => [
      projection.name,
      createProjectionRunner({
        projection,
        store,
        pool,
        log,
        passOver,
        onCommit: ({ applied }) => {
          metrics?.applied(projection.name, applied);
          progress?.advanced(projection.name);
          if (applied > 0) changes?.advanced(projection.name);
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

/** One answer for everybody who asks within `ttlMs`: probes and scrapes cost the database the same however many. */
const keepFor = <T>(ttlMs: number, read: () => Promise<T>): (() => Promise<T>) => {
  let answer: Promise<T> | undefined;
  let askedMs = 0;
  return () => {
    const nowMs = performance.now();
    if (answer === undefined || nowMs - askedMs > ttlMs) {
      askedMs = nowMs;
      answer = read();
      answer.catch(() => {
        answer = undefined;
      });
    }
    return answer;
  };
};
