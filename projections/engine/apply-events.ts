import type { ClientBase } from 'pg';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';
import { byStream } from './fold-streams.ts';
import { isFaultOfEvent } from './failure.ts';
import type { Projection } from './projection.ts';

/** An event that could not be applied: its stream is to be parked there. */
export interface FailedEvent {
  readonly event: RecordedEvent;
  readonly error: unknown;
}

/** How often an event is tried on its own before its stream is parked. */
export const TRIES = 3;

/**
 * Applies what can be applied, in the transaction of `client`, and names the first event of every stream that
 * cannot. Streams are halved until the failing ones stand alone: k bad streams of n cost about k log n calls.
 * Events of one stream keep their order; a stream's events before the bad one are applied.
 * @throws whatever is not the fault of an event (`isFaultOfEvent`): the transaction is then to be rolled back
 */
export const applyIsolated = async (
  client: ClientBase,
  projection: Projection,
  events: readonly RecordedEvent[],
): Promise<readonly FailedEvent[]> => {
  // A deferred constraint would fail the commit instead of the event that breaks it.
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

/** One stream's events, up to its first failing one. */
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

/** All of `events` or none, within a savepoint. */
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
    // Fails on a broken connection, so nothing is ever parked for one, whatever its error looked like.
    await client.query('rollback to savepoint attempt');
    return { event: events[0] as RecordedEvent, error };
  }
  await client.query('release savepoint attempt');
  return undefined;
};
