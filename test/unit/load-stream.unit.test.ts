import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Fold } from '../../shared/aggregate/aggregate.ts';
import { loadStream, type LoadOptions } from '../../shared/aggregate/load-stream.ts';
import type { Snapshot, SnapshotStore } from '../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import { eventIdOf } from '../../shared/aggregate/ids.ts';

interface CountRaised {
  readonly type: 'CountRaised';
  readonly data: object;
  readonly occurredAt: string;
}

const counter: Fold<{ readonly count: number }, CountRaised> = {
  initialState: { count: 0 },
  evolve: ({ count }) => ({ count: count + 1 }),
  events: { CountRaised: { schemaVersion: 1 } },
};

const stream = 'counter-7-1';
const commandId = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

describe('loading a long stream', () => {
  let store: EventStore;
  let saved: Map<string, Snapshot>;
  let read: number;
  const snapshots: SnapshotStore = {
    every: 10,
    load: async (name, version) => saved.get(`${name} ${version}`),
    save: (name, version, snapshot) => void saved.set(`${name} ${version}`, snapshot),
  };

  /** Each event has its own command. */
  const append = async (from: number, count: number): Promise<void> => {
    for (let n = from; n < from + count; n++) {
      const id = commandId(n);
      const metadata = {
        customerId: 7,
        actor: 'test',
        requestId: id,
        correlationId: id,
        causationId: id,
        occurredAt: '2026-01-01T00:00:00.000Z',
        schemaVersion: 1,
      };
      await store.append(stream, [{ id: eventIdOf(id, 0), type: 'CountRaised', data: {}, metadata }], 'any');
    }
  };
  const load = (options: LoadOptions = {}, type = counter) => {
    read = 0;
    return loadStream(store, type, stream, { snapshots, ...options });
  };

  beforeEach(() => {
    const memory = createMemoryEventStore();
    saved = new Map();
    store = {
      ...memory,
      readStream: async function* (name, options) {
        for await (const event of memory.readStream(name, options)) {
          read += 1;
          yield event;
        }
      },
    };
  });

  it('equals the whole fold, for any length', async () => {
    for (let count = 0; count < 75; count++) {
      const { state, revision } = await load();
      expect([state.count, revision]).toEqual([count, count === 0 ? 'no-stream' : count - 1]);
      await append(count + 1, 1);
    }
  });

  it('reads a bounded number of events, for any length of the stream', async () => {
    for (let count = 0; count < 300; count += 7) {
      await append(count + 1, 7);
      await load();
      expect(read).toBeLessThanOrEqual(3 * snapshots.every);
    }
  });

  it('ignores snapshots of another fold version', async () => {
    await append(1, 30);
    await load();
    await append(31, 1);
    expect((await load({}, { ...counter, foldVersion: 2 })).state.count).toBe(31);
    expect(read).toBe(31);
  });

  it('asks whether its command ran before, if a snapshot hides events', async () => {
    await append(1, 40);
    await load();
    const own = { commandId: commandId(15) };
    const asked: string[] = [];
    const answer = (ran: boolean) => async () => (asked.push('asked'), ran);
    expect((await load({ ...own, hasRunBefore: answer(true) })).afterCommand?.state.count).toBe(15);
    expect((await load({ ...own, hasRunBefore: answer(false) })).afterCommand).toBeUndefined();
    expect(asked).toHaveLength(2);
    // Events before the first possible snapshot and after the last one are read.
    expect((await load({ commandId: commandId(3) })).afterCommand?.state.count).toBe(3);
    await append(41, 1);
    expect((await load({ commandId: commandId(41) })).afterCommand?.state.count).toBe(41);
  });

  it('does not load a snapshot of a short stream', async () => {
    await append(1, 9);
    const failing = { ...snapshots, load: () => Promise.reject(new Error('asked')) };
    expect((await load({ snapshots: failing })).state.count).toBe(9);
  });
});
