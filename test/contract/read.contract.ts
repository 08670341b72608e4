import { describe, expect, it } from '@jest/globals';
import { comparePositions, START, type NewEvent } from '../../shared/event-store/event-store.ts';
import type { MakeStore } from './make-store.ts';
import { newStream, sampleEvent, sampleEvents, toArray } from './sample-events.ts';
import { useStore } from './use-store.ts';

export const readContract = (name: string, makeStore: MakeStore): void => {
  describe(`${name}: an empty log`, () => {
    const store = useStore(makeStore);

    it('has START as its head and no events', async () => {
      expect(await store().head()).toBe(store.start());
      expect(await store().readAll({ after: store.start(), limit: 10 })).toEqual([]);
      expect(await toArray(store().readStream('sample-none'))).toEqual([]);
      expect(await toArray(store().readStream('sample-none', { direction: 'backward' }))).toEqual([]);
    });
  });

  describe(`${name}: readStream`, () => {
    const store = useStore(makeStore);

    it('returns what was appended, with its position, revision and time', async () => {
      const stream = newStream();
      const awkward = {
        strings: ['\0', '\ud800', '\u2028', '"\\'],
        numbers: [0, -1.5, 1e300, Number.MAX_SAFE_INTEGER],
        '': null,
      };
      const events: NewEvent[] = [sampleEvent(), sampleEvent({ data: awkward, type: 'Überall' })];
      const { position } = await store().append(stream, events, 'no-stream');
      const read = await toArray(store().readStream(stream));
      expect(read).toEqual(
        events.map((event, revision) => ({
          ...event,
          stream,
          revision,
          position: revision === 1 ? position : expect.any(String),
          recordedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        })),
      );
      expect(Math.abs(Date.parse(read[0]?.recordedAt ?? '') - Date.now())).toBeLessThan(60_000);
    });

    it('reads in both directions, from a revision, up to a limit, across pages', async () => {
      const stream = newStream();
      await store().append(stream, sampleEvents(1_000), 'no-stream');
      await store().append(stream, sampleEvents(234), 999);
      const revisions = async (options: Parameters<ReturnType<typeof store>['readStream']>[1]) =>
        (await toArray(store().readStream(stream, options))).map((event) => event.revision);
      const all = Array.from({ length: 1_234 }, (_, n) => n);

      expect(await revisions({})).toEqual(all);
      expect(await revisions({ from: 1_200 })).toEqual(all.slice(1_200));
      expect(await revisions({ from: 400, limit: 700 })).toEqual(all.slice(400, 1_100));
      expect(await revisions({ limit: 500 })).toEqual(all.slice(0, 500));
      expect(await revisions({ from: 1_234 })).toEqual([]);
      expect(await revisions({ limit: 0 })).toEqual([]);
      expect(await revisions({ direction: 'backward' })).toEqual(all.toReversed());
      expect(await revisions({ direction: 'backward', limit: 1 })).toEqual([1_233]);
      expect(await revisions({ direction: 'backward', from: 2 })).toEqual([2, 1, 0]);
      expect(await revisions({ direction: 'backward', from: 5_000, limit: 2 })).toEqual([1_233, 1_232]);
      expect(await revisions({ direction: 'backward', from: 1_000, limit: 700 })).toEqual(
        all.slice(301, 1_001).toReversed(),
      );
    });

    it('reads many streams at once as each alone: short, long, large, backward, missing', async () => {
      const large = { text: 'x'.repeat(300_000) };
      const streams = await Promise.all(
        [1, 2, 3, 1_000, 5].map(async (count, n) => {
          const stream = newStream();
          const events = sampleEvents(count).map((event) => (n === 4 ? { ...event, data: large } : event));
          for (let from = 0; from < count; from += n === 4 ? 1 : 1_000) {
            const some = n === 4 ? events.slice(from, from + 1) : events;
            await store().append(stream, some, from === 0 ? 'no-stream' : from - 1);
          }
          return stream;
        }),
      );
      const options = [{}, { direction: 'backward' }, { from: 1 }, { limit: 2 }] as const;
      const asked = [...streams, 'sample-none'].flatMap((stream) =>
        options.map((option) => ({ stream, option })),
      );
      const readOne = async ({ stream, option }: (typeof asked)[number]) =>
        (await toArray(store().readStream(stream, option))).map(({ id, revision }) => `${revision} ${id}`);
      const alone: string[][] = [];
      for (const one of asked) alone.push(await readOne(one));
      expect(alone.map(({ length }) => length)).toEqual(
        [1, 2, 3, 1_000, 5, 0].flatMap((count) => [count, count, Math.max(0, count - 1), Math.min(count, 2)]),
      );
      const often = Array.from({ length: 4 }, () => asked).flat();
      expect(await Promise.all(often.map(readOne))).toEqual(Array.from({ length: 4 }, () => alone).flat());
    });
  });

  describe(`${name}: readAll, head, distance`, () => {
    const store = useStore(makeStore);

    it('pages through the whole log in order', async () => {
      for (let n = 0; n < 7; n += 1) await store().append(newStream(), sampleEvents(3), 'no-stream');
      const read = [];
      for (let after = store.start(); ;) {
        const page = await store().readAll({ after, limit: 4 });
        expect(page.length).toBeLessThanOrEqual(4);
        const last = page.at(-1);
        if (last === undefined) break;
        read.push(...page);
        after = last.position;
      }
      expect(read).toHaveLength(21);
      const positions = read.map((event) => event.position);
      expect(positions.toSorted(comparePositions)).toEqual(positions);
      // SQL compares checkpoints as text with COLLATE "C".
      expect(
        [START, ...positions].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
      ).toEqual([START, ...positions]);
      expect(new Set(positions).size).toBe(21);
      expect(await store().head()).toBe(positions[20]);
      const distance = (from: number, to: number): number =>
        store().distance(positions[from] ?? store.start(), positions[to] ?? store.start());
      expect(distance(-1, -1)).toBe(0);
      if (store().distanceUnit === 'events') {
        expect(distance(-1, 20)).toBe(21);
        expect(distance(4, 9)).toBe(5);
      } else {
        expect(distance(4, 9)).toBeGreaterThan(0);
        expect(distance(4, 9) + distance(9, 20)).toBe(distance(4, 20));
      }
    });
  });
};
