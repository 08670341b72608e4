import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  changesBetween,
  explainNext,
  membersOf,
  type Change,
  type Explanation,
} from '../../src/domain/history/change-resource.ts';
import { toNewEvents, type StorableEvent } from '../../src/shared/command/recorded-domain-event.ts';
import { createMemoryEventStore } from '../../src/shared/event-store/memory-event-store.ts';
import { createKeptFolds, type Until } from '../../src/query/history/kept-folds.ts';
import { createStreamHistory } from '../../src/query/history/stream-history.ts';
import { auditedKind } from '../../src/query/history/audited-kind.ts';
import { randomId } from '../../src/shared/ids.ts';

const json = fc.dictionary(
  fc.constantFrom('a', 'b', 'a/b', '~0', '', '__proto__x'),
  fc.jsonValue({ maxDepth: 3 }),
);

const applied = (before: unknown, changes: readonly Change[]) => {
  const members = new Map(membersOf(before));
  for (const { path, ...change } of changes) {
    if ('after' in change) members.set(path, change.after);
    else members.delete(path);
  }
  return members;
};

describe('changes between two states', () => {
  it('applied to the first, they make the second; between equal ones there are none', () => {
    fc.assert(
      fc.property(fc.option(json, { nil: undefined }), json, (before, after) => {
        const changes = changesBetween(before, after);
        expect(applied(before, changes)).toEqual(membersOf(after));
        expect(applied(after, changesBetween(after, before))).toEqual(membersOf(before));
        expect(changesBetween(after, after)).toEqual([]);
        for (const { path, ...change } of changes) {
          expect('before' in change).toBe(membersOf(before).has(path));
        }
      }),
    );
  });

  it('names a member by its JSON Pointer, and takes lists as they are', () => {
    const before = { 'a/b': { '~': 1 }, list: [1, 2], gone: undefined };
    const after = { 'a/b': { '~': 2 }, list: [2, 1], empty: {} };
    expect(changesBetween(before, after)).toEqual([
      { path: '/a~1b/~0', before: 1, after: 2 },
      { path: '/list', before: [1, 2], after: [2, 1] },
      { path: '/empty', after: {} },
    ]);
  });
});

describe('an explanation', () => {
  it('has the members of the state, each with the last that changed it', () => {
    fc.assert(
      fc.property(fc.array(json, { minLength: 1, maxLength: 8 }), (states) => {
        const explanation = states.reduce<Explanation<number>>(
          (known, state, by) => explainNext(known, state, by),
          new Map(),
        );
        const now = membersOf(states.at(-1));
        expect(new Map([...explanation].map(([path, { value }]) => [path, value]))).toEqual(now);
        for (const [path, { by }] of explanation) {
          for (let n = by; n < states.length; n += 1) {
            expect(membersOf(states[n]).get(path)).toEqual(now.get(path));
          }
          const before = by === 0 ? undefined : membersOf(states[by - 1]);
          expect(before?.has(path) === true && before.get(path) === now.get(path)).toBe(false);
        }
      }),
    );
  });
});

interface Noted extends StorableEvent {
  readonly data: { readonly note: number };
}
type Notes = { readonly notes: readonly number[]; readonly at: string };
const noNotes: Notes = { notes: [], at: '' };

const kind = auditedKind({
  category: 'notes',
  resourceType: 'TASK',
  noun: 'note',
  decider: {
    initialState: noNotes,
    evolve: ({ notes }: Notes, { data, occurredAt }: Noted): Notes => ({
      notes: [...notes, data.note],
      at: occurredAt,
    }),
  },
  live: (state) => (state.notes.length === 0 ? undefined : state),
  audited: (notes) => notes,
  idOf: () => 'notes',
});

const stream = 'notes-1-1';
/** Clocks of two nodes: every third event is decided by one that is behind. */
const timeOf = (n: number): string =>
  new Date(1_000_000 + n * 1_000 - (n % 3 === 0 ? 5_000 : 0)).toISOString();

const storeOf = async (events: number) => {
  const store = createMemoryEventStore();
  for (let n = 0; n < events; n += 1) {
    const event = { type: 'Noted', data: { note: n }, occurredAt: timeOf(n) };
    const context = { commandId: randomId(), customerId: 1, actor: 'operator', requestId: 'r' };
    await store.append(stream, toNewEvents([event], context, { Noted: { schemaVersion: 1 } }), 'any');
  }
  return store;
};

describe('states of the past', () => {
  const count = 200;
  const all = Array.from({ length: count }, (_, n) => n);

  // The second holds next to nothing, and forgets all the time.
  it.each([1_000_000, 3_000])(
    'are the folds up to there, with %i bytes to remember them in',
    async (bytes) => {
      const store = await storeOf(count);
      const history = createStreamHistory(store, createKeptFolds(store, bytes));
      const stateAt = async (until: Until) => {
        const { state, revision } = await history.stateAt(kind, stream, until);
        expect((state as Notes).notes).toEqual(all.slice(0, revision));
        return revision;
      };
      await fc.assert(
        fc.asyncProperty(fc.nat({ max: count + 5 }), async (revision) => {
          expect(await stateAt({ revision })).toBe(Math.min(revision, count));
        }),
        { numRuns: 60 },
      );
      await fc.assert(
        fc.asyncProperty(fc.nat({ max: count }), async (n) => {
          const instant = timeOf(n);
          const beyond = all.findIndex((one) => timeOf(one) > instant);
          expect(await stateAt({ instant })).toBe(beyond < 0 ? count : beyond);
        }),
        { numRuns: 60 },
      );
      expect(await stateAt({ revision: 'last' })).toBe(count);
    },
  );

  it('changes of some revisions are those of the whole history', async () => {
    const store = await storeOf(count);
    const history = createStreamHistory(store, createKeptFolds(store, 1_000_000));
    const whole = (await history.page(kind, { stream }, 0, count)).events;
    expect(whole).toHaveLength(count);
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.integer({ min: 1, max: count })), async (revisions) => {
        const found = await history.changesAt(kind, { stream }, revisions);
        expect(new Map(found)).toEqual(new Map(revisions.map((one) => [one, whole[one - 1]])));
      }),
      { numRuns: 30 },
    );
    const { state } = await history.explain(kind, { stream }, { revision: 150 });
    expect([...state].map(([path, { value, by }]) => [path, value, by.revision])).toEqual([
      ['/notes', all.slice(0, 150), 149],
      ['/at', timeOf(149), 149],
    ]);
  });
});
