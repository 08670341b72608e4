import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Decider } from '../../shared/aggregate/aggregate.ts';
import { executeCommand, TooManyConflictsError } from '../../shared/aggregate/execute-command.ts';
import {
  AppendOutcomeUnknownError,
  WrongExpectedRevisionError,
  type EventStore,
} from '../../shared/event-store/event-store.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import { eventIdOf } from '../../shared/aggregate/ids.ts';

interface AmountAdded {
  readonly type: 'Added';
  readonly data: { readonly amount: number; readonly by: string };
  readonly occurredAt: string;
}
interface Add {
  readonly amount: number;
  readonly by: string;
}
interface Sum {
  readonly sum: number;
  readonly seen: readonly string[];
}

/** Refuses a sum above ten; adding 0 has no effect. */
const counter: Decider<Sum, Add, AmountAdded, 'too-much'> = {
  initialState: { sum: 0, seen: [] },
  evolve: (state, { data }) => ({ sum: state.sum + data.amount, seen: [...state.seen, data.by] }),
  decide: ({ amount, by }, state) => {
    if (state.sum + amount > 10) return { refused: 'too-much' };
    if (amount === 0) return { events: [] };
    return { events: [{ type: 'Added', data: { amount, by }, occurredAt: '2026-01-01T00:00:00.000Z' }] };
  },
  events: { Added: { schemaVersion: 1 } },
};

const stream = 'counter-7-1';
const context = (commandId: string) => ({ commandId, customerId: 7, actor: 'test', requestId: 'request-1' });
const one = '11111111-1111-4111-8111-111111111111';
const two = '22222222-2222-4222-8222-222222222222';

describe('executing a command', () => {
  let store: EventStore;
  const add = (commandId: string, amount: number, over: Partial<EventStore> = {}, isNew = false) =>
    executeCommand({ ...store, ...over }, counter, {
      stream,
      command: { amount, by: commandId.slice(0, 1) },
      context: context(commandId),
      isNew,
    });
  const history = async (): Promise<readonly string[]> => {
    const ids: string[] = [];
    for await (const event of store.readStream(stream)) ids.push(event.id);
    return ids;
  };
  beforeEach(() => {
    store = createMemoryEventStore();
  });

  it('appends the decided events, with ids derived from the command', async () => {
    expect(await add(one, 3)).toMatchObject({ outcome: 'done', state: { sum: 3 } });
    expect(await history()).toEqual([eventIdOf(one, 0)]);
    for await (const { metadata } of store.readStream(stream)) {
      expect(metadata).toMatchObject({
        customerId: 7,
        causationId: one,
        correlationId: 'request-1',
        schemaVersion: 1,
      });
    }
  });

  it('refuses without writing', async () => {
    expect(await add(one, 11)).toEqual({ outcome: 'refused', refusal: 'too-much' });
    expect(await history()).toEqual([]);
  });

  it('writes nothing when the effect already holds', async () => {
    expect(await add(one, 0)).toMatchObject({ outcome: 'done', state: { sum: 0 } });
    expect(await history()).toEqual([]);
  });

  it('repeated, gives the same answer, even after later events', async () => {
    const first = await add(one, 3);
    await add(two, 4);
    expect(await add(one, 3)).toEqual(first);
    expect(await history()).toHaveLength(2);
  });

  it('repeated as a creation, answers from the stored events, not from a new decision', async () => {
    await add(one, 3, {}, true);
    const again = await executeCommand(store, counter, {
      stream,
      command: { amount: 5, by: 'later' },
      context: context(one),
      isNew: true,
    });
    expect(again).toMatchObject({ outcome: 'done', state: { sum: 3, seen: ['1'] } });
  });

  describe('with a known state', () => {
    const reads: string[] = [];
    const adding = (commandId: string, amount: number, known: { state: Sum; revision: number }) => {
      const readStream: EventStore['readStream'] = (name, range) => {
        reads.push(name);
        return store.readStream(name, range);
      };
      return executeCommand({ ...store, readStream }, counter, {
        stream,
        command: { amount, by: commandId.slice(0, 1) },
        context: context(commandId),
        known,
      });
    };
    const seenOne = { state: { sum: 3, seen: ['1'] }, revision: 0 };
    beforeEach(async () => {
      await add(one, 3);
      reads.length = 0;
    });

    it('does not read the stream', async () => {
      expect(await adding(two, 4, seenOne)).toMatchObject({
        state: { sum: 7, seen: ['1', '2'] },
        revision: 1,
      });
      expect(reads).toEqual([]);
    });

    it('decides on later events too, if it would append, refuse or do nothing', async () => {
      await add('33333333-3333-4333-8333-333333333333', 5);
      expect(await adding(two, 2, seenOne)).toMatchObject({ state: { sum: 10, seen: ['1', '3', '2'] } });
      const full = { state: { sum: 11, seen: [] }, revision: 0 };
      expect(await adding('44444444-4444-4444-8444-444444444444', -1, full)).toMatchObject({
        state: { sum: 9 },
      });
      expect(await adding('55555555-5555-4555-8555-555555555555', 0, full)).toMatchObject({
        state: { sum: 9 },
      });
    });

    it('repeated, gives the same answer', async () => {
      const first = await adding(two, 4, seenOne);
      await add('33333333-3333-4333-8333-333333333333', 1);
      expect(await adding(two, 4, seenOne)).toEqual(first);
    });
  });

  describe('on a stream that this process has cached', () => {
    let reads = 0;
    let own: EventStore;
    const addHere = (commandId: string, amount: number) =>
      executeCommand(own, counter, {
        stream,
        command: { amount, by: commandId.slice(0, 1) },
        context: context(commandId),
      });
    beforeEach(async () => {
      reads = 0;
      own = {
        ...store,
        readStream: (...asked) => {
          reads += 1;
          return store.readStream(...asked);
        },
      };
      await addHere(one, 1);
      expect(reads).toBe(1);
    });

    it('does not read it again for further writes', async () => {
      for (let n = 0; n < 5; n += 1) await addHere(randomUUID(), 1);
      expect(reads).toBe(1);
      expect(await history()).toHaveLength(6);
    });

    it('retries if another process has written meanwhile', async () => {
      await add(two, 4);
      expect(await addHere(randomUUID(), 2)).toMatchObject({ outcome: 'done', state: { sum: 7 } });
      expect(reads).toBe(2);
    });

    it('reads it before it refuses or does nothing, because another process may have written', async () => {
      await add(two, -1);
      expect(await addHere(randomUUID(), 10)).toMatchObject({ outcome: 'done', state: { sum: 10 } });
      expect(await addHere(randomUUID(), 0)).toMatchObject({ outcome: 'done', state: { sum: 10 } });
      expect(await history()).toHaveLength(3);
    });

    it('finds the events of a repeated command, even if no claim records it', async () => {
      await addHere(two, 2);
      const again = await executeCommand(own, counter, {
        stream,
        command: { amount: 2, by: '2' },
        context: context(two),
        hasRunBefore: async () => false,
      });
      expect(again).toMatchObject({ outcome: 'done', state: { sum: 3 }, revision: 1 });
      expect(await history()).toHaveLength(2);
    });

    it('does not cache a large state', async () => {
      const command = { amount: 1, by: 'x'.repeat(100_000) };
      await executeCommand(own, counter, { stream, command, context: context(randomUUID()) });
      expect(reads).toBe(1);
      await addHere(randomUUID(), 1);
      await addHere(randomUUID(), 1);
      expect(reads).toBe(3);
    });

    it('finds events of its command that another process has written', async () => {
      await add(two, 2);
      await add(randomUUID(), 3);
      expect(await addHere(two, 2)).toMatchObject({ outcome: 'done', state: { sum: 3 }, revision: 1 });
      expect(await history()).toHaveLength(3);
    });
  });

  it('decides again if another process was faster', async () => {
    let raced = false;
    const outcome = await add(one, 6, {
      append: async (...appended) => {
        if (!raced) {
          raced = true;
          await add(two, 6);
        }
        return store.append(...appended);
      },
    });
    expect(outcome).toEqual({ outcome: 'refused', refusal: 'too-much' });
    expect(await history()).toEqual([eventIdOf(two, 0)]);
  });

  it('100 concurrent commands on one stream append once each, without a lost race', async () => {
    let appends = 0;
    const counting: EventStore = {
      ...store,
      append: (...appended) => {
        appends += 1;
        return store.append(...appended);
      },
    };
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, () =>
        executeCommand(counting, counter, {
          stream,
          command: { amount: 0.01, by: '' },
          context: context(randomUUID()),
        }),
      ),
    );
    expect(outcomes.every(({ outcome }) => outcome === 'done')).toBe(true);
    expect([appends, (await history()).length]).toEqual([100, 100]);
  });

  it('fails after a limited number of lost races', async () => {
    const append = (): Promise<never> => Promise.reject(new WrongExpectedRevisionError(stream, 0, 1));
    await expect(add(one, 1, { append })).rejects.toBeInstanceOf(TooManyConflictsError);
  });

  it('reports an unknown outcome; a repeat returns the actual one', async () => {
    const lostReply: Partial<EventStore> = {
      append: async (...appended) => {
        await store.append(...appended);
        throw new AppendOutcomeUnknownError('the reply was lost');
      },
    };
    await expect(add(one, 3, lostReply)).rejects.toBeInstanceOf(AppendOutcomeUnknownError);
    expect(await add(one, 3)).toMatchObject({ outcome: 'done', state: { sum: 3 } });
    expect(await history()).toEqual([eventIdOf(one, 0)]);
  });
});
