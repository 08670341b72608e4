import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import {
  comparePositions,
  type EventBatch,
  type EventStore,
  type NewEvent,
  type Position,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';

/** An event that no other code depends on. */
export const sampleEvent = (overrides: Partial<NewEvent> = {}): NewEvent => ({
  id: randomUUID(),
  type: 'SampleRecorded',
  data: { text: 'grüezi 👋', nested: { list: [1, 2.5, null, true], empty: {} } },
  metadata: {
    customerId: 7,
    actor: 'api-key:1',
    requestId: 'request',
    correlationId: 'correlation',
    causationId: 'causation',
    occurredAt: '2026-01-02T03:04:05.678Z',
    schemaVersion: 1,
  },
  ...overrides,
});

export const sampleEvents = (count: number): NewEvent[] => Array.from({ length: count }, () => sampleEvent());

let streams = 0;
/** A stream name that no other test uses. */
export const newStream = (category = 'sample'): string => `${category}-${process.pid}-${(streams += 1)}`;

export const toArray = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};

export const readIds = async (store: EventStore, stream: string): Promise<string[]> =>
  (await toArray(store.readStream(stream))).map((event) => event.id);

/** Collects events until `enough` is true for all events so far. */
export const takeUntil = async (
  batches: AsyncIterable<EventBatch>,
  enough: (events: readonly RecordedEvent[], batch: EventBatch) => boolean,
): Promise<RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  for await (const batch of batches) {
    events.push(...batch.events);
    if (enough(events, batch)) break;
  }
  return events;
};

/** A position of this form after the end of the log, if the given one is the end. */
export const positionAhead = (position: Position): Position =>
  position.replaceAll(/\d+/g, (digits) =>
    String(BigInt(digits) + 1n).padStart(digits.length, '0'),
  ) as Position;

/** Asserts that a subscriber is at `target`. In a log with other events it may have passed some of those. */
export const expectReached = (store: EventStore, position: Position | undefined, target: Position): void => {
  if (store.distanceUnit === 'events') expect(position).toBe(target);
  else expect(comparePositions(position as Position, target)).toBeGreaterThanOrEqual(0);
};
