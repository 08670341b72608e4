import type { ClientBase } from 'pg';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import { isFaultOfEvent } from './projection-failure.ts';
import type { Projection, Purpose } from './projection.ts';

export interface FailedEvent {
  readonly event: RecordedEvent;
  readonly error: unknown;
}

export const TRIES = 3;

/**
 * Halves the batch until failing events are alone: k of n cost about k log n calls. The order of the log is kept
 * across streams, because a consumer's rows depend on it.
 * @returns the first failing event of each stream
 * @throws errors that no event causes (`isFaultOfEvent`): the caller must then roll back
 */
export const applyIsolated = async (
  client: ClientBase,
  projection: Projection,
  events: readonly RecordedEvent[],
  purpose?: Purpose,
): Promise<readonly FailedEvent[]> => {
  // A deferred constraint would fail the commit instead of the event that violates it.
  await client.query('set constraints all immediate');
  const failed = new Map<string, FailedEvent>();
  await isolate(client, projection, { events, purpose }, failed);
  return [...failed.values()];
};

interface Part {
  readonly events: readonly RecordedEvent[];
  readonly purpose: Purpose | undefined;
}

const isolate = async (
  client: ClientBase,
  projection: Projection,
  { events, purpose }: Part,
  failed: Map<string, FailedEvent>,
): Promise<void> => {
  const rest = events.filter(({ stream }) => !failed.has(stream));
  const [first] = rest;
  if (first === undefined) return;
  for (let tries = rest.length === 1 ? TRIES : 1; tries > 0; tries -= 1) {
    const failure = await attempt(client, projection, { events: rest, purpose });
    if (failure === undefined) return;
    if (rest.length === 1 && tries === 1) failed.set(first.stream, failure);
  }
  if (rest.length === 1) return;
  const middle = Math.ceil(rest.length / 2);
  await isolate(client, projection, { events: rest.slice(0, middle), purpose }, failed);
  await isolate(client, projection, { events: rest.slice(middle), purpose }, failed);
};

/** All or none, with a savepoint. */
const attempt = async (
  client: ClientBase,
  projection: Projection,
  { events, purpose }: Part,
): Promise<FailedEvent | undefined> => {
  await client.query('savepoint attempt');
  try {
    await projection.apply(client, events, purpose);
  } catch (error) {
    if (!isFaultOfEvent(error)) throw error;
    // Throws on a broken connection, so no stream is parked because of one.
    await client.query('rollback to savepoint attempt');
    return { event: events[0] as RecordedEvent, error };
  }
  await client.query('release savepoint attempt');
  return undefined;
};
