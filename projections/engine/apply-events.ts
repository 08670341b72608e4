import type { ClientBase } from 'pg';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import { byStream } from './fold-streams.ts';
import { isFaultOfEvent } from './projection-failure.ts';
import type { Projection } from './projection.ts';

export interface FailedEvent {
  readonly event: RecordedEvent;
  readonly error: unknown;
}

export const TRIES = 3;

/**
 * Halves the set of streams until failing ones are alone: k of n cost about k log n calls.
 * @returns the first failing event of each stream
 * @throws errors that no event causes (`isFaultOfEvent`): the caller must then roll back
 */
export const applyIsolated = async (
  client: ClientBase,
  projection: Projection,
  events: readonly RecordedEvent[],
): Promise<readonly FailedEvent[]> => {
  // A deferred constraint would fail the commit instead of the event that violates it.
  await client.query('set constraints all immediate');
  return isolate(client, projection, [...byStream(events).values()]);
};

const isolate = async (
  client: ClientBase,
  projection: Projection,
  streams: readonly (readonly RecordedEvent[])[],
): Promise<readonly FailedEvent[]> => {
  if (streams.length === 0) return [];
  if (streams.length === 1) return firstFailure(client, projection, streams[0] ?? []);
  const tried = await attempt(client, projection, streams.flat());
  if (tried === undefined) return [];
  const middle = Math.ceil(streams.length / 2);
  const left = await isolate(client, projection, streams.slice(0, middle));
  return [...left, ...(await isolate(client, projection, streams.slice(middle)))];
};

const firstFailure = async (
  client: ClientBase,
  projection: Projection,
  events: readonly RecordedEvent[],
): Promise<readonly FailedEvent[]> => {
  if (events.length > 1 && (await attempt(client, projection, events)) === undefined) return [];
  for (const event of events) {
    let failed: FailedEvent | undefined;
    for (let tries = 0; tries < TRIES; tries += 1) {
      failed = await attempt(client, projection, [event]);
      if (failed === undefined) break;
    }
    if (failed !== undefined) return [failed];
  }
  return [];
};

/** All or none, with a savepoint. */
const attempt = async (
  client: ClientBase,
  projection: Projection,
  events: readonly RecordedEvent[],
): Promise<FailedEvent | undefined> => {
  await client.query('savepoint attempt');
  try {
    await projection.apply(client, events);
  } catch (error) {
    if (!isFaultOfEvent(error)) throw error;
    // Throws on a broken connection, so no stream is parked because of one.
    await client.query('rollback to savepoint attempt');
    return { event: events[0] as RecordedEvent, error };
  }
  await client.query('release savepoint attempt');
  return undefined;
};
