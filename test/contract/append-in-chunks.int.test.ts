import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { status } from '@grpc/grpc-js';
import { appendInChunks } from '../../shared/event-store/append-in-chunks.ts';
import {
  AppendTooLargeError,
  WrongExpectedRevisionError,
  type EventStore,
  type NewEvent,
} from '../../shared/event-store/event-store.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import { makeEventStoreDbOnService, type EventStoreDbOnService } from './make-eventstoredb-store.ts';
import { newStream, readIds, sampleEvent, sampleEvents, toArray } from './sample-events.ts';

/** Size limits that the store reports by refusing an append, and work that spans several appends. */

let made: EventStoreDbOnService;
beforeEach(async () => {
  made = await makeEventStoreDbOnService();
});
afterEach(() => made.dispose());

const KIB = 1024;
const large = (bytes: number): NewEvent => sampleEvent({ data: { text: 'x'.repeat(bytes) } });
const ids = (events: readonly NewEvent[]): string[] => events.map(({ id }) => id);

describe('an append above the size limit', () => {
  it('is refused as a whole, and the error contains the limit', async () => {
    const { store } = made;
    const stream = newStream();
    const events = Array.from({ length: 3 }, () => large(400 * KIB));
    const failure = await store.append(stream, events, 'no-stream').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AppendTooLargeError);
    expect(failure).toMatchObject({ bytesMax: 1_048_576 });
    expect(await readIds(store, stream)).toEqual([]);
    expect(await store.append(stream, events.slice(0, 2), 'no-stream')).toMatchObject({ revision: 1 });
  });

  it('is not sent when one of its events exceeds the limit of every server', async () => {
    const { store, service } = made;
    const event = large(16 * KIB * KIB - 9_000);
    await expect(store.append(newStream(), [event], 'no-stream')).rejects.toBeInstanceOf(AppendTooLargeError);
    expect(service.calls.append).toBe(0);
  });

  it('is refused as too large when the server names its own limit for one event', async () => {
    const { store, service } = made;
    const details = 'Maximum Append Event Size Exceeded';
    service.faults.inject({ fault: 'status', code: status.INVALID_ARGUMENT, details, kinds: ['append'] });
    await expect(store.append(newStream(), sampleEvents(1), 'no-stream')).rejects.toBeInstanceOf(
      AppendTooLargeError,
    );
  });
});

describe('an append in chunks', () => {
  it('is one append when it fits', async () => {
    const { store, service } = made;
    const events = sampleEvents(900);
    const stream = newStream();
    expect(await appendInChunks(store, stream, events, 'no-stream')).toMatchObject({
      revision: 899,
      repeated: false,
    });
    expect(service.calls.append).toBe(1);
  });

  it('takes as many appends as it needs, in order, after the existing events', async () => {
    const { store } = made;
    const stream = newStream();
    const first = sampleEvents(2);
    await store.append(stream, first, 'no-stream');
    const events = [...sampleEvents(2_500), ...Array.from({ length: 4 }, () => large(500 * KIB))];
    const answer = await appendInChunks(store, stream, events, 1);
    expect(answer).toMatchObject({ revision: 2_505, repeated: false });
    const read = await toArray(store.readStream(stream));
    expect(read.map(({ id }) => id)).toEqual([...ids(first), ...ids(events)]);
    expect(answer.position).toBe(read.at(-1)?.position);
    expect(await appendInChunks(store, stream, events, 1)).toEqual({ ...answer, repeated: true });
    expect(await readIds(store, stream)).toHaveLength(2_506);
  });

  it('learns a lower limit of the server once', async () => {
    const { store, service } = made;
    service.faults.refuseAbove(100 * KIB);
    const events = Array.from({ length: 20 }, () => large(30 * KIB));
    const stream = newStream();
    await appendInChunks(store, stream, events, 'no-stream');
    expect(await readIds(store, stream)).toEqual(ids(events));
    const before = service.calls.append;
    await appendInChunks(
      store,
      newStream(),
      events.map((event) => ({ ...event, id: sampleEvent().id })),
      'no-stream',
    );
    expect(service.calls.append - before).toBe(7);
    await expect(appendInChunks(store, newStream(), [large(120 * KIB)], 'no-stream')).rejects.toBeInstanceOf(
      AppendTooLargeError,
    );
  });

  it.each([1, 3, 5])('continues after the first %i events of an earlier run', async (done) => {
    const { store } = made;
    const stream = newStream();
    const events = sampleEvents(8);
    const halved: Pick<EventStore, 'append' | 'readStream'> = {
      append: (name, some, expected) => store.append(name, some.slice(0, done), expected),
      readStream: (...args) => store.readStream(...args),
    };
    await halved.append(stream, events, 'no-stream');
    expect(await appendInChunks(store, stream, events, 'no-stream')).toMatchObject({
      revision: 7,
      repeated: false,
    });
    expect(await readIds(store, stream)).toEqual(ids(events));
  });

  it('is refused with a conflict where the stream holds other events', async () => {
    const { store } = made;
    const stream = newStream();
    await store.append(stream, sampleEvents(1), 'no-stream');
    await expect(appendInChunks(store, stream, sampleEvents(3), 'no-stream')).rejects.toBeInstanceOf(
      WrongExpectedRevisionError,
    );
    expect(await readIds(store, stream)).toHaveLength(1);
  });

  it('works the same on a store without a size limit', async () => {
    const store = createMemoryEventStore();
    const events = sampleEvents(2_200);
    expect(await appendInChunks(store, 'sample-1', events, 'no-stream')).toMatchObject({ revision: 2_199 });
    expect(await readIds(store, 'sample-1')).toEqual(ids(events));
  });
});
