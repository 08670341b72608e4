import type { Installation } from '../app/installation.ts';
import { allProjections } from '../projections/all-projections.ts';
import { startProjections } from '../projections/engine/projection-engine.ts';
import type { ProjectionStatus } from '../projections/engine/projection-status.ts';
import { lagOf } from '../projections/engine/read-model-health.ts';
import { resetReadModels } from '../projections/engine/reset.ts';
import { sleep } from '../shared/async/backoff.ts';
import { START } from '../shared/event-store/event-store.ts';
import type { Logger } from 'pino';
import { countServices } from '../shared/postgres/running-services.ts';
import type { Progress } from './command.ts';

/** Processes of the service run on the database; they would serve and write during the rebuild. */
class ServiceRunningError extends Error {
  override readonly name = 'ServiceRunningError';
}

export interface RebuiltReadModels {
  readonly readModels: readonly string[];
  readonly parkedStreams: number;
}

const LOOK_EVERY_MS = 300;

/** After the log was replaced. If killed, projectors complete the rebuild. @throws ServiceRunningError */
export const rebuildReadModels = async (
  { pool, store, databaseUrl }: Installation,
  log: Logger,
  onProgress: (progress: Progress) => void,
): Promise<RebuiltReadModels> => {
  const services = await countServices(pool);
  if (services > 0) {
    throw new ServiceRunningError(
      `${services} processes of the service run on this database: stop them, then rebuild`,
    );
  }
  const head = await store.head();
  await resetReadModels(pool, allProjections, head);
  const running = startProjections({
    projections: allProjections,
    store,
    connectionString: databaseUrl,
    pool,
    log,
  });
  try {
    const whole = store.distance(START, head);
    for (;;) {
      const statuses = await running.status();
      const stuck = statuses.find(({ state }) => state === 'log-gap' || state === 'retrying');
      if (stuck !== undefined)
        throw new Error(`${stuck.name} cannot be rebuilt: ${stuck.error ?? stuck.state}`);
      const lag = Math.max(...statuses.map(lagOf));
      const done = statuses.filter((one) => lagOf(one) <= 0).length;
      onProgress({
        fraction: whole <= 0 ? 1 : Math.min(1, 1 - lag / whole),
        phase: `read models, ${done} of ${statuses.length}`,
      });
      if (statuses.every((one) => one.leading && lagOf(one) <= 0)) return summary(statuses);
      await sleep(LOOK_EVERY_MS);
    }
  } finally {
    await running.stop();
  }
};

const summary = (statuses: readonly ProjectionStatus[]): RebuiltReadModels => ({
  readModels: statuses.map(({ name }) => name),
  parkedStreams: statuses.reduce((sum, { parkedStreams }) => sum + parkedStreams, 0),
});
