import { afterEach, describe, expect, it } from '@jest/globals';
import {
  LogGapError,
  START,
  type EventBatch,
  type EventFilter,
  type JsonObject,
  type NewEvent,
  type Position,
} from '../../shared/event-store/event-store.ts';
import { until } from '../support/until.ts';
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

export const subscribeContract = (name: string, makeStore: MakeStore): void => {
  describe(`${name}: subscribeToAll`, () => {
    const store = useStore(makeStore);
    let ended = new AbortController();
    afterEach(() => {
      ended.abort();
      ended = new AbortController();
    });
    const subscribe = (after: Position, more: EventFilter & { batchSize?: number } = {}) =>
      store().subscribeToAll({
        after,
        signal: ended.signal,
        filter: { categories: more.categories, types: more.types, having: more.having },
        ...(more.batchSize === undefined ? {} : { batchSize: more.batchSize }),
      });

    it('reports at once that it has caught up, and delivers new events', async () => {
      const batches = subscribe(await store().head())[Symbol.asyncIterator]();
      const first = (await batches.next()).value as EventBatch;
      expect(first).toMatchObject({ events: [], caughtUp: true });
      expectReached(store(), first.position, await store().head());
      const waiting = batches.next();
      const { position } = await store().append(newStream(), sampleEvents(2), 'no-stream');
      const seen = [(await waiting).value as EventBatch];
      // A store that pushes events may deliver them one by one.
      while (seen.flatMap(({ events }) => events).length < 2) {
        seen.push((await batches.next()).value as EventBatch);
      }
      expect(seen.at(-1)?.caughtUp).toBe(true);
      expectReached(store(), seen.at(-1)?.position, position);
      expect(seen.flatMap(({ events }) => events)).toHaveLength(2);
    });

    it('delivers from the start in batches of the given size, and reports when it has caught up', async () => {
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

    it('delivers the events after a position, without the one at it', async () => {
      const { position } = await store().append(newStream(), sampleEvents(2), 'no-stream');
      const later = sampleEvents(3);
      await store().append(newStream(), later, 'no-stream');
      const events = await takeUntil(subscribe(position), (_, batch) => batch.caughtUp);
      expect(events.map((event) => event.id)).toEqual(later.map((event) => event.id));
    });

    it('delivers only the given categories, and moves its position past the others', async () => {
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

    it('delivers only the given types, from pages and from the tail, and moves its position past the others', async () => {
      const after = await store().head();
      const stream = newStream('apple');
      const typed = (...types: readonly string[]) =>
        sampleEvents(types.length).map((event, n) => ({ ...event, type: types[n] as string }));
      await store().append(stream, typed('Ripened', 'Picked', 'Ripened', 'Eaten'), 'no-stream');
      await store().append(newStream('pear'), typed('Picked'), 'no-stream');
      const seen: EventBatch[] = [];
      const following = takeUntil(
        subscribe(after, { categories: ['apple'], types: ['Picked', 'Eaten'], batchSize: 2 }),
        (events, batch) => {
          seen.push(batch);
          return events.length === 3 && batch.caughtUp;
        },
      );
      await until(async () => seen.some(({ caughtUp }) => caughtUp));
      const { position } = await store().append(stream, typed('Ripened', 'Picked'), 'any');
      expect((await following).map(({ type }) => type)).toEqual(['Picked', 'Eaten', 'Picked']);
      expectReached(store(), seen.at(-1)?.position, position);
    });

    it('delivers only the events of a type with the given member, from pages and from the tail', async () => {
      const after = await store().head();
      const stream = newStream('apple');
      const made = (type: string, data: JsonObject) => ({
        ...(sampleEvents(1)[0] as NewEvent),
        type,
        data,
      });
      const change = { before: 'green' };
      await store().append(
        stream,
        [
          made('Weighed', { grams: 180 }),
          made('Weighed', { grams: 181, change }),
          // Only of the data itself, not of what it contains.
          made('Weighed', { grams: 182, by: { change }, note: '"change":' }),
          made('Picked', { hour: 7 }),
        ],
        'no-stream',
      );
      const seen: EventBatch[] = [];
      const following = takeUntil(
        subscribe(after, {
          categories: ['apple'],
          having: { type: 'Weighed', member: 'change' },
          batchSize: 2,
        }),
        (events, batch) => {
          seen.push(batch);
          return events.length === 3 && batch.caughtUp;
        },
      );
      await until(async () => seen.some(({ caughtUp }) => caughtUp));
      await store().append(stream, [made('Weighed', { grams: 183 })], 'any');
      const { position } = await store().append(stream, [made('Weighed', { change: null })], 'any');
      expect((await following).map(({ data }) => data)).toEqual([
        { grams: 181, change },
        { hour: 7 },
        { change: null },
      ]);
      expectReached(store(), seen.at(-1)?.position, position);
    });

    it('reads the next batch only after the last one was processed, so a slow subscriber receives later events in it', async () => {
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

    it('gives subscribers that follow together the same events, each its own categories', async () => {
      const after = await store().head();
      const wanted = [undefined, ['apple'], ['pear', 'fig'], ['none']];
      const last = sampleEvents(1);
      const following = wanted.map((categories) =>
        takeUntil(subscribe(after, categories && { categories: [...categories, 'last'] }), (events) =>
          events.some(({ id }) => id === last[0]?.id),
        ),
      );
      for (let n = 0; n < 40; n += 1) {
        const category = ['apple', 'pear', 'fig', 'plum'][n % 4] as string;
        await store().append(newStream(category), sampleEvents(1 + (n % 3)), 'no-stream');
      }
      await store().append(newStream('last'), last, 'no-stream');
      const all = await store().readAll({ after, limit: 10_000 });
      for (const [n, events] of (await Promise.all(following)).entries()) {
        const categories = wanted[n];
        const own = all.filter(({ stream }) => {
          const [category = ''] = stream.split('-');
          return categories === undefined || [...categories, 'last'].includes(category);
        });
        expect(events).toEqual(own);
      }
    });

    it('ends immediately and without error when its signal fires, waiting or not', async () => {
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

    it('refuses a position after the end of the log instead of waiting for it', async () => {
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
    const after = made.start ?? START;
    const subscription = store.subscribeToAll({ after, signal: new AbortController().signal });
    const batches = subscription[Symbol.asyncIterator]();
    expect(await batches.next()).toMatchObject({ done: false, value: { caughtUp: true } });
    const next = batches.next();
    await store.close();
    expect(await next).toMatchObject({ done: true });
    await made.dispose();
  });
};
