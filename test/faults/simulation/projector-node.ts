import type { Pool } from 'pg';
import { advertisersProjection } from '../../../projections/advertisers.ts';
import { createProjectionRunner } from '../../../projections/engine/projection-runner.ts';
import { retryParked } from '../../../projections/engine/retry-parked.ts';
import {
  EventStoreUnavailableError,
  type EventBatch,
  type EventStore,
  type Position,
  type RecordedEvent,
  type SubscribeOptions,
} from '../../../shared/event-store/event-store.ts';
import { quietLog } from './quiet-log.ts';
import type { Process, World } from './world.ts';

/** The maximum of events in one delivery. */
const BATCH_MAX = 3;
/** Fixed, because randomness may only come from the tape. */
const FAILURE_PAUSE_MS = 50;
const refused = (): Error => new EventStoreUnavailableError('refused');

/** All events so far. Resolves when events after a position exist. */
export interface LogView {
  readonly events: readonly RecordedEvent[];
  reaches(after: Position): Promise<void>;
}

/**
 * Runs the read model until the process crashes. There is no leader election: two nodes that both act as leader are the
 * usual case.
 */
export const startProjector = (
  world: World,
  process: Process,
  pool: Pool,
  log: LogView,
  projection = advertisersProjection,
): void => {
  const runner = createProjectionRunner({
    projection,
    store: { subscribeToAll: (options) => deliver(world, process, log, options) },
    pool,
    log: quietLog,
    onCommit: () => undefined,
    pause: () => world.pause(process, FAILURE_PAUSE_MS),
  });
  void runner.run(new AbortController().signal);
};

/** Delivers small batches. Some repeat or overlap earlier ones. */
async function* deliver(
  world: World,
  process: Process,
  log: LogView,
  { after, signal }: SubscribeOptions,
): AsyncGenerator<EventBatch> {
  const { tape } = world;
  let delivered = after;
  while (!signal.aborted) {
    const batch = await world.call({
      process,
      label: 'deliver',
      run: () =>
        nextBatch(log.events, delivered, { size: 1 + tape.choose(BATCH_MAX), again: tape.choose(8) }),
      refused,
      unknown: refused,
    });
    if (batch === undefined) await log.reaches(delivered);
    else {
      if (batch.position > delivered) delivered = batch.position;
      yield batch;
    }
  }
}

const nextBatch = (
  events: readonly RecordedEvent[],
  delivered: Position,
  { size, again }: { readonly size: number; readonly again: number },
): EventBatch | undefined => {
  const from = events.findIndex(({ position }) => position > delivered);
  if (from < 0) return undefined;
  // In up to three of eight cases the batch starts that many events earlier. It may end before the previous batch did.
  const start = Math.max(0, from - (again <= BATCH_MAX ? again : 0));
  const batch = events.slice(start, start + size);
  const last = batch.at(-1);
  if (last === undefined) return undefined;
  return { events: batch, position: last.position, caughtUp: last === events.at(-1) };
};

/** The operator's un-parking after a repair. Repeats it until it succeeds. */
export const unpark = async (
  world: World,
  process: Process,
  pool: Pool,
  store: EventStore,
  stream: string,
): Promise<void> => {
  for (;;) {
    try {
      await retryParked(pool, store, advertisersProjection, stream);
      return;
    } catch {
      await world.pause(process, FAILURE_PAUSE_MS);
    }
  }
};
