import { describe, expect, it } from '@jest/globals';
import {
  EventStoreUnavailableError,
  WrongExpectedRevisionError,
  type EventStore,
  type ExpectedRevision,
  type NewEvent,
} from '../../shared/event-store/event-store.ts';
import type { MakeStore } from './make-store.ts';
import { newStream, readIds, sampleEvent, sampleEvents } from './sample-events.ts';
import { useStore } from './use-store.ts';

const ids = (events: readonly NewEvent[]): string[] => events.map((event) => event.id);

const conflictOf = async (
  store: EventStore,
  stream: string,
  events: NewEvent[],
  expected: ExpectedRevision,
) => {
  const error = await store.append(stream, events, expected).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(WrongExpectedRevisionError);
  const { stream: named, expected: asked, actual } = error as WrongExpectedRevisionError;
  expect({ named, asked }).toEqual({ named: stream, asked: expected });
  return actual;
};

export const appendContract = (name: string, makeStore: MakeStore): void => {
  describe(`${name}: append`, () => {
    const store = useStore(makeStore);

    it('starts at revision 0 and continues without gaps', async () => {
      const stream = newStream();
      expect(await store().append(stream, sampleEvents(2), 'no-stream')).toMatchObject({
        revision: 1,
        repeated: false,
      });
      expect(await store().append(stream, sampleEvents(1), 1)).toMatchObject({
        revision: 2,
        repeated: false,
      });
      expect(await store().append(stream, sampleEvents(3), 'any')).toMatchObject({
        revision: 5,
        repeated: false,
      });
    });

    it('accepts "any" for a stream that does not exist', async () => {
      expect(await store().append(newStream(), sampleEvents(1), 'any')).toMatchObject({ revision: 0 });
    });

    it('returns the position of the last event, which is then the head', async () => {
      const { position } = await store().append(newStream(), sampleEvents(3), 'no-stream');
      expect(await store().head()).toBe(position);
    });

    it('refuses any other expected revision with the actual one, and writes nothing', async () => {
      const stream = newStream();
      expect(await conflictOf(store(), stream, sampleEvents(1), 0)).toBe('no-stream');
      const events = sampleEvents(3);
      await store().append(stream, events, 'no-stream');
      const before = await store().head();
      expect(await conflictOf(store(), stream, sampleEvents(1), 'no-stream')).toBe(2);
      expect(await conflictOf(store(), stream, sampleEvents(1), 0)).toBe(2);
      expect(await conflictOf(store(), stream, sampleEvents(1), 3)).toBe(2);
      expect(await readIds(store(), stream)).toEqual(ids(events));
      expect(await store().head()).toBe(before);
    });

    it('lets exactly one of many creators of a stream win', async () => {
      for (let round = 0; round < 20; round += 1) {
        const stream = newStream();
        const attempts = Array.from({ length: 8 }, () =>
          store().append(stream, sampleEvents(1), 'no-stream'),
        );
        const outcomes = await Promise.allSettled(attempts);
        const lost = outcomes.filter((outcome) => outcome.status === 'rejected');
        expect(lost.map(({ reason }) => (reason as WrongExpectedRevisionError).actual)).toEqual(
          Array(7).fill(0),
        );
        expect(await readIds(store(), stream)).toHaveLength(1);
      }
    });

    it('loses none of 60 concurrent appends with "any"', async () => {
      const stream = newStream();
      const appends = Array.from({ length: 60 }, () => store().append(stream, sampleEvents(2), 'any'));
      const revisions = (await Promise.all(appends)).map(({ revision }) => revision);
      expect(revisions.sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, n) => 2 * n + 1));
    });

    it('keeps the order in which one caller appends without waiting', async () => {
      const stream = newStream();
      const events = sampleEvents(50);
      await Promise.all(events.map((event) => store().append(stream, [event], 'any')));
      expect(await readIds(store(), stream)).toEqual(ids(events));
    });

    it('accepts 1 to 1,000 events', async () => {
      const stream = newStream();
      await expect(store().append(stream, [], 'any')).rejects.toBeInstanceOf(RangeError);
      await expect(store().append(stream, sampleEvents(1_001), 'any')).rejects.toBeInstanceOf(RangeError);
      expect(await store().append(stream, sampleEvents(1_000), 'no-stream')).toMatchObject({ revision: 999 });
    });

    it('refuses an event that cannot be stored without failing concurrent appends', async () => {
      const bystanders = Array.from({ length: 20 }, () =>
        store().append(newStream(), sampleEvents(1), 'no-stream'),
      );
      const other = { ...sampleEvent().metadata, customerId: 8 };
      const circular: Record<string, never> = {};
      Object.assign(circular, { circular });
      const bad: [string, NewEvent[], ExpectedRevision][] = [
        ['', sampleEvents(1), 'any'],
        ['a\0b', sampleEvents(1), 'any'],
        ['a\ud800', sampleEvents(1), 'any'],
        ['x'.repeat(513), sampleEvents(1), 'any'],
        [newStream(), [sampleEvent({ id: 'not-a-uuid' })], 'any'],
        [newStream(), [sampleEvent({ type: '' })], 'any'],
        [newStream(), [sampleEvent(), sampleEvent({ metadata: other })], 'any'],
        [newStream(), [sampleEvent({ data: { text: 'x'.repeat(16 * 1024 * 1024) } })], 'any'],
        [newStream(), sampleEvents(1), -1],
        [newStream(), sampleEvents(1), 1.5],
      ];
      for (const [stream, events, expected] of bad) {
        await expect(store().append(stream, events, expected)).rejects.toBeInstanceOf(RangeError);
      }
      await expect(store().append(newStream(), [sampleEvent({ data: circular })], 'any')).rejects.toThrow();
      expect(await Promise.all(bystanders)).toHaveLength(20);
    });
  });

  describe(`${name}: a repeated append`, () => {
    const store = useStore(makeStore);

    it.each<[string, ExpectedRevision, number]>([
      ['no-stream', 'no-stream', 0],
      ['an exact revision', 1, 2],
      ['any', 'any', 2],
    ])('returns the first result and writes nothing (%s)', async (_, expected, before) => {
      const stream = newStream();
      if (before > 0) await store().append(stream, sampleEvents(before), 'no-stream');
      const events = sampleEvents(3);
      const first = await store().append(stream, events, expected);
      await store().append(stream, sampleEvents(2), 'any');
      await store().append(newStream(), sampleEvents(1), 'any');
      const head = await store().head();
      for (let times = 0; times < 2; times += 1) {
        expect(await store().append(stream, events, expected)).toEqual({ ...first, repeated: true });
      }
      expect(await store().head()).toBe(head);
      expect(await readIds(store(), stream)).toHaveLength(before + 5);
    });

    it('is recognised while the first one is still running', async () => {
      const stream = newStream();
      const events = sampleEvents(2);
      const answers = await Promise.all([1, 2, 3].map(() => store().append(stream, events, 'no-stream')));
      expect(answers.filter(({ repeated }) => repeated)).toHaveLength(2);
      expect(new Set(answers.map(({ position }) => position)).size).toBe(1);
    });

    it('is recognised as the beginning of a larger append', async () => {
      const stream = newStream();
      const events = sampleEvents(4);
      await store().append(stream, events, 'no-stream');
      const [, second] = await readPositions(store(), stream);
      const prefix = { revision: 1, position: second, repeated: true };
      expect(await store().append(stream, events.slice(0, 2), 'no-stream')).toEqual(prefix);
      expect(await store().append(stream, events.slice(0, 2), 'any')).toEqual(prefix);
    });

    it('is recognised across appends that together hold the same events', async () => {
      const stream = newStream();
      const events = sampleEvents(3);
      await store().append(stream, events.slice(0, 1), 'no-stream');
      await store().append(stream, events.slice(1), 0);
      expect(await store().append(stream, events, 'no-stream')).toMatchObject({
        revision: 2,
        repeated: true,
      });
    });

    it.each<ExpectedRevision>(['no-stream', 'any'])(
      'is a conflict when it differs in part (%s)',
      async (expected) => {
        const stream = newStream();
        const [a, b, c] = sampleEvents(3) as [NewEvent, NewEvent, NewEvent];
        await store().append(stream, [a, b], 'no-stream');
        expect(await conflictOf(store(), stream, [a, c], expected)).toBe(1);
        expect(await conflictOf(store(), stream, [a, b, c], expected)).toBe(1);
        expect(await readIds(store(), stream)).toEqual([a.id, b.id]);
      },
    );

    it('is a new append when it names the revision that the first one led to', async () => {
      const stream = newStream();
      const events = sampleEvents(1);
      await store().append(stream, events, 'no-stream');
      expect(await store().append(stream, events, 0)).toMatchObject({ revision: 1, repeated: false });
    });

    it('with "any" is recognised within the last 1,000 events', async () => {
      const stream = newStream();
      const events = sampleEvents(1);
      const first = await store().append(stream, events, 'any');
      await store().append(stream, sampleEvents(999), 'any');
      expect(await store().append(stream, events, 'any')).toEqual({ ...first, repeated: true });
      await store().append(stream, sampleEvents(1), 'any');
      expect(await store().append(stream, events, 'any')).toMatchObject({ revision: 1_001, repeated: false });
      expect(await store().append(stream, events, 'no-stream')).toEqual({ ...first, repeated: true });
    });

    it('with "any" returns the last append when the same events were appended more than once', async () => {
      const stream = newStream();
      const [a, b, c] = sampleEvents(3) as [NewEvent, NewEvent, NewEvent];
      await store().append(stream, [a], 'any');
      await store().append(stream, [b, c], 0);
      const again = await store().append(stream, [b, c], 2);
      expect(again).toMatchObject({ revision: 4, repeated: false });
      expect(await store().append(stream, [b, c], 'any')).toEqual({ ...again, repeated: true });
      const first = await store().append(stream, [b], 4);
      expect(await store().append(stream, [b], 'any')).toEqual({ ...first, repeated: true });
      expect(await conflictOf(store(), stream, [b, c], 'any')).toBe(5);
      expect(await readIds(store(), stream)).toEqual(ids([a, b, c, b, c, b]));
    });

    it('with "any" is a new append after 1,000 events of other appends', async () => {
      const stream = newStream();
      const [a, b] = sampleEvents(2) as [NewEvent, NewEvent];
      await store().append(stream, [a], 'any');
      await store().append(stream, [b], 0);
      await store().append(stream, sampleEvents(1_000), 1);
      expect(await store().append(stream, [b], 'any')).toMatchObject({ revision: 1_002, repeated: false });
    });

    it('is recognised in one stream only', async () => {
      const events = sampleEvents(1);
      await store().append(newStream(), events, 'any');
      expect(await store().append(newStream(), events, 'any')).toMatchObject({ repeated: false });
    });
  });

  describe(`${name}: close`, () => {
    it('completes running appends and refuses later ones', async () => {
      const made = await makeStore();
      const { store } = made;
      const underWay = Array.from({ length: 30 }, () =>
        store.append(newStream(), sampleEvents(1), 'no-stream'),
      );
      const [answers] = await Promise.all([Promise.all(underWay), store.close()]);
      expect(answers).toHaveLength(30);
      await expect(store.append(newStream(), sampleEvents(1), 'any')).rejects.toBeInstanceOf(
        EventStoreUnavailableError,
      );
      await made.dispose();
    });
  });
};

const readPositions = async (store: EventStore, stream: string) => {
  const positions = [];
  for await (const event of store.readStream(stream)) positions.push(event.position);
  return positions;
};
