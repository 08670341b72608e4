import type { Pool } from 'pg';
import type { Registry } from 'prom-client';
import { startProjections, type Projections } from '../projections/engine/projection-engine.ts';
import type { ProjectionsReadiness } from '../projections/engine/projection-status.ts';
import type { Projection } from '../projections/engine/projection.ts';
import { systemClock as clock } from '../shared/async/clock.ts';
import type { Config } from './config.ts';
import type { EventStore } from '../shared/event-store/event-store.ts';
import type { PublicDetail, ReadinessPart } from '../shared/async/readiness.ts';
import type { LogBytes } from '../shared/log-chain/log-bytes.ts';
import { logKeysOf } from '../shared/log-chain/log-keys.ts';
import { registerSealMetrics } from '../shared/log-chain/seal-metrics.ts';
import { sealRegularly } from '../shared/log-chain/seal-regularly.ts';
import type { Logger } from 'pino';
import type { ProjectionProgress } from '../shared/follow-log/projection-progress.ts';

export interface ProjectorOptions {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly pool: Pool;
  /** For batches of read models: a crash of the database may lose its last commits. */
  readonly derivedPool: Pool;
  readonly store: EventStore;
  readonly logBytes: LogBytes;
  readonly progress: ProjectionProgress;
  readonly changes: ProjectionProgress;
  readonly projections: readonly Projection[];
  readonly registry: Registry;
  readonly log: Logger;
}

export interface Projector {
  readonly readiness: ReadinessPart;
  start(): void;
  isRunning(): boolean;
  stop(): Promise<void>;
}

/** Without the positions, which tell how busy all accounts are, and the parked streams, which name their resources. */
const publicDetailOf = ({ degraded, projections }: ProjectionsReadiness): PublicDetail => ({
  degraded,
  projections: projections.map(({ name, state, lagEvents, lagBytes, parkedStreams }) => ({
    name,
    state,
    ...(lagEvents !== undefined && { lagEvents }),
    ...(lagBytes !== undefined && { lagBytes }),
    parkedStreams,
  })),
});

/** Without the role `projector` it runs no projection, but knows how far the read models are. */
export const createProjector = (options: ProjectorOptions): Projector => {
  const { config, databaseUrl, derivedPool, store, projections, progress, changes, registry, log } = options;
  const isProjector = config.ROLES.includes('projector');
  const ending = new AbortController();
  let running: Projections | undefined;
  return {
    readiness: {
      name: 'projections',
      check: async () => {
        const state = await running?.readiness();
        if (state === undefined) return { ready: false, detail: 'not started yet' };
        const { ready, ...detail } = state;
        return { ready, detail, publicDetail: publicDetailOf(state) };
      },
    },
    start: () => {
      running = startProjections({
        projections,
        lead: isProjector,
        store,
        connectionString: databaseUrl,
        pool: derivedPool,
        log,
        registry,
        progress,
        changes,
      });
      if (isProjector) sealLog(options, ending.signal);
    },
    isRunning: () => running !== undefined,
    stop: async () => {
      ending.abort();
      await running?.stop();
    },
  };
};

/** The projector seals the log, so that appends need not compute the hash chain. */
const sealLog = ({ config, pool, logBytes, registry, log }: ProjectorOptions, signal: AbortSignal): void => {
  if (config.LOG_SEAL_SECONDS === 0) return;
  const chain = { pool, log: logBytes, keys: logKeysOf(config), clock, signal };
  sealRegularly(chain, config.LOG_SEAL_SECONDS * 1_000, log, registerSealMetrics(registry));
};
