import type { ClientBase, Pool } from 'pg';
import {
  comparePositions,
  START,
  type EventBatch,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { failpoint } from '../../shared/async/failpoints.ts';
import { withEventsOf } from '../../shared/tracing/correlation.ts';
import { tracedBatch } from '../../shared/tracing/tracing.ts';
import { inTransaction } from '../../shared/postgres/pool.ts';
import { applyIsolated, TRIES, type FailedEvent } from './apply-events.ts';
import { markIncomplete, moveCheckpoint, type Checkpoint } from './checkpoint.ts';
import { errorText, isFaultOfEvent } from './projection-failure.ts';
import type { PassOver } from './move-checkpoints.ts';
import type { Projection } from './projection.ts';

export interface CommittedBatch {
  readonly checkpoint: Checkpoint;
  readonly applied: number;
  readonly parked: readonly FailedEvent[];
  /** False if there is nothing new for workers. */
  readonly isNews: boolean;
}

/**
 * Only if an event fails, the batch is applied again stream by stream.
 * @throws CheckpointMovedError; errors that no event causes: after a lost connection read the checkpoint
 */
export const commitBatch = async (
  pool: Pool,
  projection: Projection,
  checkpoint: Checkpoint,
  batch: EventBatch,
  passOver: PassOver = (name, from, to) => moveCheckpoint(pool, name, from, to),
): Promise<CommittedBatch> => {
  // A redelivered batch contains nothing new, and must not move the checkpoint back.
  if (comparePositions(batch.position, checkpoint.position) <= 0) {
    return { checkpoint, applied: 0, parked: [], isNews: false };
  }
  const next = { ...checkpoint, position: batch.position };
  const events = batch.events.filter(
    ({ position, stream }) =>
      comparePositions(position, checkpoint.position) > 0 && !checkpoint.parked.has(stream),
  );
  if (events.length === 0 && !isToRestart(projection, checkpoint)) {
    // Still written immediately: a read waits for its account's last event, of any category.
    await passOver(projection.name, checkpoint, batch.position);
    return { checkpoint: next, applied: 0, parked: [], isNews: false };
  }
  try {
    const isNews = await inBatchSpan(projection, events, pool, async (client) => {
      await begin(client, projection, checkpoint, batch);
      failpoint('projection-before-rows');
      const outcome = await projection.apply(client, events);
      failpoint('projection-before-commit');
      return outcome !== false;
    });
    failpoint('projection-after-commit');
    return { checkpoint: next, applied: events.length, parked: [], isNews };
  } catch (error) {
    if (!isFaultOfEvent(error)) throw error;
  }
  const failed = await inTransaction(pool, async (client) => {
    await begin(client, projection, checkpoint, batch);
    const failures = await applyIsolated(client, projection, events);
    await park(client, projection.name, failures);
    return failures;
  });
  return {
    checkpoint: { ...next, parked: new Set([...next.parked, ...failed.map(({ event }) => event.stream)]) },
    applied: countApplied(events, failed),
    parked: failed,
    isNews: true,
  };
};

/** The work that a projection requests continues the traces of its events. */
const inBatchSpan = <T>(
  { name }: Projection,
  events: readonly RecordedEvent[],
  pool: Pool,
  run: (client: ClientBase) => Promise<T>,
): Promise<T> =>
  tracedBatch(
    `project ${name}`,
    { 'exchange.projection': name, 'exchange.events': events.length },
    events,
    () => withEventsOf(events, () => inTransaction(pool, run)),
  );

const begin = async (
  client: ClientBase,
  projection: Projection,
  checkpoint: Checkpoint,
  batch: EventBatch,
): Promise<void> => {
  await moveCheckpoint(client, projection.name, checkpoint, batch.position);
  if (!isToRestart(projection, checkpoint)) return;
  await markIncomplete(client, projection.name);
  await projection.restart?.(client);
};

const isToRestart = (projection: Projection, { position }: Checkpoint): boolean =>
  position === START && projection.restart !== undefined;

const countApplied = (events: readonly RecordedEvent[], failed: readonly FailedEvent[]): number => {
  const firstBad = new Map(failed.map(({ event }) => [event.stream, event.revision]));
  return events.filter(({ stream, revision }) => revision < (firstBad.get(stream) ?? Infinity)).length;
};

const park = async (
  client: ClientBase,
  projection: string,
  failures: readonly FailedEvent[],
): Promise<void> => {
  if (failures.length === 0) return;
  await client.query(
    `insert into parked_streams
       (projection, stream, customer_id, position, revision, event_type, error, attempts)
     select $1, f.*, $8 from unnest($2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[]) f`,
    [
      projection,
      failures.map(({ event }) => event.stream),
      failures.map(({ event }) => event.metadata.customerId),
      failures.map(({ event }) => event.position),
      failures.map(({ event }) => event.revision),
      failures.map(({ event }) => event.type),
      failures.map(({ error }) => errorText(error)),
      TRIES,
    ],
  );
};
