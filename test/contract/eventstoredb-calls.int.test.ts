import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import {
  makeEventStoreDbOnService,
  openEventStoreDbStore,
  type EventStoreDbOnService,
} from './make-eventstoredb-store.ts';
import { newStream, sampleEvents } from './sample-events.ts';

/** When an append is read back, and its result when it is not, over real gRPC to the in-memory service. */

let made: EventStoreDbOnService;
let store: EventStore;
beforeEach(async () => {
  made = await makeEventStoreDbOnService();
  ({ store } = made);
  // A client reads once before its first append.
  await store.append(newStream(), sampleEvents(1), 'no-stream');
});
afterEach(() => made.dispose());

const sentOnce = { mayBeRepeat: async () => false };
const readBacks = async (work: () => Promise<unknown>): Promise<number> => {
  const before = made.service.calls['read-stream'];
  await work();
  return made.service.calls['read-stream'] - before;
};

describe('an append to EventStoreDB', () => {
  it('is one call when its caller knows that it is the first try, and two calls otherwise', async () => {
    const stream = newStream();
    const append =
      (expected: 'no-stream' | number, more = {}) =>
      async () =>
        expect(await store.append(stream, sampleEvents(2), expected, more)).toMatchObject({
          repeated: false,
        });
    expect(await readBacks(append('no-stream', sentOnce))).toBe(0);
    expect(await readBacks(append(1))).toBe(1);
    expect(await readBacks(append(3, sentOnce))).toBe(0);
  });

  it('is not read back when only the answer to its own first try was lost', async () => {
    made.service.faults.inject({ fault: 'timeout-after-commit', kinds: ['append'] });
    const appends = made.service.calls.append;
    const count = await readBacks(async () =>
      expect(await store.append(newStream(), sampleEvents(2), 'no-stream', sentOnce)).toMatchObject({
        revision: 1,
        repeated: false,
      }),
    );
    expect([count, made.service.calls.append - appends]).toEqual([0, 2]);
  });

  it('is recognised as a repeat even when its caller says that it is not one', async () => {
    const [stream, events] = [newStream(), sampleEvents(2)];
    const first = await store.append(stream, events, 'no-stream', sentOnce);
    expect(await store.append(stream, events, 'no-stream', sentOnce)).toEqual({ ...first, repeated: true });
  });

  it('asks its caller after it was written: another process may take the claim over until then', async () => {
    const [stream, events] = [newStream(), sampleEvents(2)];
    const other = openEventStoreDbStore(made.service.url);
    let isTakenOver = false;
    const first = store.append(stream, events, 'no-stream', { mayBeRepeat: async () => isTakenOver });
    expect(await first).toMatchObject({ repeated: false });
    // Another process sends the same events after it has taken the claim over.
    isTakenOver = true;
    expect(
      await other.store.append(stream, events, 'no-stream', { mayBeRepeat: async () => isTakenOver }),
    ).toMatchObject({ repeated: true });
    await other.store.close();
  });

  it('is read back when its caller cannot answer', async () => {
    const mayBeRepeat = async (): Promise<boolean> => {
      throw new Error('the claims cannot be read');
    };
    const count = await readBacks(async () =>
      expect(await store.append(newStream(), sampleEvents(1), 'no-stream', { mayBeRepeat })).toMatchObject({
        repeated: false,
      }),
    );
    expect(count).toBe(1);
  });
});
