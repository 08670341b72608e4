import { afterEach, describe, expect, it } from '@jest/globals';
import {
  LogGapError,
  START,
  type EventBatch,
  type Position,
  type RecordedEvent,
} from '../../src/shared/event-store/event-store.ts';
import type { MakeStore } from './make-store.ts';
import {
  expectReached,
  newStream,
  positionAhead,
  sampleEvents,
  takeUntil,
  toArray,
} from './sample-events.ts';
import { useStore } from './use-store.ts';

/** Each member as it is asked for. */
const read = (event: RecordedEvent): RecordedEvent => ({
  id: event.id,
  type: event.type,
  data: event.data,
  metadata: {
    customerId: event.metadata.customerId,
    actor: event.metadata.actor,
    requestId: event.metadata.requestId,
    correlationId: event.metadata.correlationId,
    causationId: event.metadata.causationId,
    occurredAt: event.metadata.occurredAt,
    schemaVersion: event.metadata.schemaVersion,
  },
  stream: event.stream,
  revision: event.revision,
  position: event.position,
  recordedAt: event.recordedAt,
});

export const subscribeContract = (name: string, makeStore: MakeStore): void => {
  describe(`${name}: subscribeToAll`, () => {
    const store = useStore(makeStore);
    let ended = new AbortController();
    afterEach(() => {
      ended.abort();
      ended = new AbortController();
    });
    const subscribe = (
      after: Position,
      more: { categories?: string[]; batchSize?: number; lazy?: boolean } = {},
    ) =>
      store().subscribeToAll({
        after,
        lazy: more.lazy ?? false,
        signal: ended.signal,
        ...(more.categories === undefined ? {} : { filter: { categories: more.categories } }),
        ...(more.batchSize === undefined ? {} : { batchSize: more.batchSize }),
      });

    it('says at once that there is nothing more, and goes on with what comes', async () => {
      const batches = subscribe(await store().head())[Symbol.asyncIterator]();
      const first = (await batches.next()).value as EventBatch;
      expect(first).toMatchObject({ events: [], caughtUp: true });
      expectReached(store(), first.position, await store().head());
      const waiting = batches.next();
      const { position } = await store().append(newStream(), sampleEvents(2), 'no-stream');
      const batch = (await waiting).value as EventBatch;
      expect(batch.caughtUp).toBe(true);
      expectReached(store(), batch.position, position);
      expect(batch.events).toHaveLength(2);
    });

    it('delivers from the start in batches of the given size, and says when it has caught up', async () => {
      for (let n = 0; n < 5; n += 1) await store().append(newStream(), sampleEvents(5), 'no-stream');
      const seen: EventBatch[] = [];
      const events = await takeUntil(subscribe(store.start(), { batchSize: 4 }), (_, batch) => {
        seen.push(batch);
        return batch.caughtUp;
      });
      expect(events).toEqual(await store().readAll({ after: store.start(), limit: 10_000 }));
      expect(Math.max(...seen.map((batch) => batch.events.length))).toBe(4);
      expectReached(store(), seen.at(-1)?.position, await store().head());
      expect(seen.filter((batch) => batch.caughtUp)).toHaveLength(1);
    });

    it('read lazily, events are member by member what they are otherwise', async () => {
      const after = await store().head();
      await store().append(newStream('apple'), sampleEvents(3), 'no-stream');
      await store().append(newStream('pear'), sampleEvents(2), 'no-stream');
      await store().append(newStream('apple'), sampleEvents(4), 'no-stream');
      for (const more of [
        { batchSize: 2 },
        { batchSize: 4, categories: ['apple'] },
        { categories: ['pear', 'fig'] },
      ]) {
        const eager = await takeUntil(subscribe(after, more), (_, batch) => batch.caughtUp);
        const lazy = await takeUntil(subscribe(after, { ...more, lazy: true }), (_, batch) => batch.caughtUp);
        expect(lazy.map(read)).toEqual(eager.map(read));
        for (const { data, dataUtf8 } of lazy) {
          if (dataUtf8 !== undefined) expect(JSON.parse(Buffer.from(dataUtf8).toString())).toEqual(data);
        }
      }
    });

    it('delivers what lies behind a position, exclusive', async () => {
      const { position } = await store().append(newStream(), sampleEvents(2), 'no-stream');
      const behind = sampleEvents(3);
      await store().append(newStream(), behind, 'no-stream');
      const events = await takeUntil(subscribe(position), (_, batch) => batch.caughtUp);
      expect(events.map((event) => event.id)).toEqual(behind.map((event) => event.id));
    });

    it('lets only the wanted categories through, and moves its position past the others', async () => {
      const after = await store().head();
      await store().append(newStream('apple'), sampleEvents(3), 'no-stream');
      await store().append(newStream('pear'), sampleEvents(2), 'no-stream');
      await store().append('apple', sampleEvents(1), 'any');
      const { position } = await store().append(newStream('applesauce'), sampleEvents(4), 'no-stream');
      const seen: EventBatch[] = [];
      const events = await takeUntil(
        subscribe(after, { categories: ['apple'], batchSize: 2 }),
        (_, batch) => {
          seen.push(batch);
          return batch.caughtUp;
        },
      );
      expect(events.map((event) => event.stream.split('-')[0])).toEqual(['apple', 'apple', 'apple', 'apple']);
      expectReached(store(), seen.at(-1)?.position, position);
      expect(seen.some((batch) => batch.events.length === 0)).toBe(true);
      expect(await takeUntil(subscribe(after, { categories: [] }), (_, batch) => batch.caughtUp)).toEqual([]);
    });

    it('reads on only when the last batch was taken: a slow subscriber sees what came in the meantime', async () => {
      const after = await store().head();
      await store().append(newStream(), sampleEvents(1), 'no-stream');
      const slow = subscribe(after)[Symbol.asyncIterator]();
      expect(((await slow.next()).value as EventBatch).events).toHaveLength(1);
      for (let n = 0; n < 30; n += 1) await store().append(newStream(), sampleEvents(2), 'no-stream');
      const quick = await takeUntil(subscribe(after), (events) => events.length === 61);
      expect(quick).toHaveLength(61);
      const next = (await slow.next()).value as EventBatch;
      expect(next.events).toHaveLength(60);
      expect(next.caughtUp).toBe(true);
    });

    it('ends normally and at once when its signal fires, waiting or not', async () => {
      const waiting = toArray(subscribe(await store().head()));
      const busy = (async () => {
        let batches = 0;
        for await (const _ of subscribe(store.start(), { batchSize: 1 })) batches += 1;
        return batches;
      })();
      await new Promise((resolve) => setTimeout(resolve, 30));
      const startMs = performance.now();
      ended.abort();
      await Promise.all([waiting, busy]);
      expect(performance.now() - startMs).toBeLessThan(10_000);
      expect(await toArray(subscribe(store.start()))).toEqual([]);
    });

    it('refuses a position that the log has not reached, instead of waiting until it has', async () => {
      const head = await store().head();
      await expect(toArray(subscribe(positionAhead(head)))).rejects.toBeInstanceOf(LogGapError);
    });

    it('refuses a batch size outside 1 to 10,000', async () => {
      await expect(toArray(subscribe(store.start(), { batchSize: 0 }))).rejects.toBeInstanceOf(RangeError);
      await expect(toArray(subscribe(store.start(), { batchSize: 10_001 }))).rejects.toBeInstanceOf(
        RangeError,
      );
    });
  });

  it(`${name}: closing the store ends its subscriptions`, async () => {
    const made = await makeStore();
    const { store } = made;
    const subscription = store.subscribeToAll({ after: START, signal: new AbortController().signal });
    const batches = subscription[Symbol.asyncIterator]();
    expect(await batches.next()).toMatchObject({ done: false, value: { caughtUp: true } });
    const next = batches.next();
    await store.close();
    expect(await next).toMatchObject({ done: true });
    await made.dispose();
  });
};
