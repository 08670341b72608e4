import { EventEmitter, once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { EventRow } from '../../query/history/audit-entries.ts';
import { entriesOf, type AuditReads } from '../../query/history/audit-routes.ts';
import { auditedKind } from '../../query/resources/audited-kind.ts';
import { createFoldCache } from '../../query/history/fold-cache.ts';
import type { Until } from '../../query/history/fold.ts';
import { createSharedForEach } from '../../shared/async/limit.ts';
import { PAGE_BYTES_MAX } from '../../query/history/page-bytes.ts';
import { createStreamHistory, type HistoryPage } from '../../query/history/stream-history.ts';
import type { Position, ReadStreamOptions, RecordedEvent } from '../../shared/event-store/event-store.ts';
import { ClientGoneError } from '../../shared/http/errors.ts';

interface NoteEvent {
  readonly type: string;
  readonly data: { readonly note: string };
  readonly occurredAt: string;
}
interface Notes {
  readonly notes: readonly string[];
}

const kind = auditedKind({
  category: 'notes',
  resourceType: 'TASK',
  noun: 'note',
  events: {},
  initialState: { notes: [] },
  evolve: ({ notes }: Notes, { data }: NoteEvent): Notes => ({ notes: [...notes, data.note] }),
  live: (state) => (state.notes.length === 0 ? undefined : state),
  // Each note replaces the previous one.
  audited: ({ notes }) => ({ note: notes.at(-1) }),
  idOf: () => 'notes',
});

const stream = 'notes-1-1';
const timeOf = (n: number): string => new Date(1_000_000 + n * 1_000).toISOString();

/** @param log the log that recorded it: the only difference from an event with the same id in another log */
const noted = (revision: number, note: string, log = 'first', at = timeOf(revision)): RecordedEvent => ({
  id: `event-${revision}`,
  type: 'NoteEvent',
  data: { note },
  metadata: {
    customerId: 1,
    actor: 'operator',
    requestId: 'r',
    correlationId: 'r',
    causationId: `command-${revision}`,
    occurredAt: at,
    schemaVersion: 1,
  },
  stream,
  revision,
  position: String(revision).padStart(16, '0') as Position,
  recordedAt: `${log} ${revision}`,
});

const logOf = (count: number): readonly RecordedEvent[] =>
  Array.from({ length: count }, (_, n) => noted(n, `${n}`));

/** @param read called for every event that is read */
const storeOf = (log: () => readonly RecordedEvent[], read: () => void = () => undefined) => ({
  readStream: async function* (_: string, { from = 0, limit = Infinity }: ReadStreamOptions = {}) {
    for (const event of log().slice(from, from + limit)) {
      read();
      yield event;
    }
  },
});

describe('states cached from one log', () => {
  const length = fc.integer({ min: 0, max: 90 });
  const until = fc.oneof(
    fc.record({ revision: fc.nat({ max: 200 }) }),
    fc.nat({ max: 200 }).map((n) => ({ instant: timeOf(n) })),
    fc.constant({ revision: 'last' } as const),
  );
  const questions = fc.array(fc.tuple(fc.boolean(), until), { maxLength: 25 });

  it('are never used for another log with the same beginning and ids', async () => {
    await fc.assert(
      fc.asyncProperty(length, length, length, questions, async (shared, more, otherMore, asked) => {
        const first = logOf(shared + more);
        // Restored from a backup, then continued with other events at other times.
        const other = [
          ...first.slice(0, shared),
          ...Array.from({ length: otherMore }, (_, n) =>
            noted(shared + n, `other ${n}`, 'other', timeOf(shared + 2 * n)),
          ),
        ];
        let now = first;
        const cached = createStreamHistory(
          storeOf(() => now),
          createFoldCache(
            storeOf(() => now),
            1_000_000,
          ),
        );
        for (const [isOther, point] of asked) {
          now = isOther ? other : first;
          const store = storeOf(() => now);
          const fresh = createStreamHistory(store, createFoldCache(store, 1_000_000));
          const wanted: Until = point;
          expect(await cached.stateAt(kind, stream, wanted)).toMatchObject(
            await fresh.stateAt(kind, stream, wanted),
          );
        }
      }),
      { numRuns: 60 },
    );
  });

  it('survive a new connection: only reads in progress are not cached', async () => {
    let read = 0;
    const store = storeOf(
      () => logOf(100),
      () => (read += 1),
    );
    const cached = createFoldCache(store, 1_000_000);
    const history = createStreamHistory(store, cached);
    await history.stateAt(kind, stream, { revision: 96 });
    cached.interrupt();
    read = 0;
    await history.stateAt(kind, stream, { revision: 100 });
    // Reads the last event of the cached state and the events after it.
    expect(read).toBe(5);

    const across = createFoldCache(
      storeOf(
        () => logOf(100),
        () => {
          read += 1;
          across.interrupt();
        },
      ),
      1_000_000,
    );
    const reading = createStreamHistory(store, across);
    await reading.stateAt(kind, stream, { revision: 64 });
    read = 0;
    await reading.stateAt(kind, stream, { revision: 64 });
    expect(read).toBe(64);
  });

  it('include everything read before the client left', async () => {
    let read = 0;
    const store = storeOf(
      () => logOf(100),
      () => (read += 1),
    );
    const cached = createFoldCache(store, 1_000_000);
    const leaving = createStreamHistory(store, cached, () => read > 50);
    await expect(leaving.stateAt(kind, stream, { revision: 'last' })).rejects.toThrow(ClientGoneError);
    expect(read).toBe(51);
    await expect(leaving.page(kind, { stream }, 0, 10)).rejects.toThrow(ClientGoneError);
    read = 0;
    const staying = createStreamHistory(store, cached);
    expect((await staying.stateAt(kind, stream, { revision: 'last' })).revision).toBe(100);
    expect(read).toBe(100 - 48 + 1);
  });
});

describe('a page of large entries', () => {
  const log = Array.from({ length: 7 }, (_, n) => noted(n, `${n}${'x'.repeat(PAGE_BYTES_MAX / 4)}`));
  const history = () => {
    const store = storeOf(() => log);
    return createStreamHistory(store, createFoldCache(store, 1_000_000));
  };

  it('ends early, and all pages together are complete', async () => {
    const pages: number[][] = [];
    let after: number | undefined = 0;
    while (after !== undefined) {
      const { events, next }: HistoryPage = await history().page(kind, { stream }, after, 100);
      pages.push(events.map(({ event }) => event.revision));
      after = next;
    }
    // The first entry has no earlier note. Two other entries, each with its earlier note, exceed a page.
    expect(pages).toEqual([[0, 1], [2], [3], [4], [5], [6]]);
  });

  it('has at least one entry, also in the audit log', async () => {
    const reads = {
      forEach: createSharedForEach({ each: 2, together: 2 }),
      kindOf: () => kind,
      namesakeOf: () => undefined,
    } as unknown as AuditReads;
    const rowOf = (revision: number) =>
      ({
        kind: 'event',
        id: `${revision}`,
        stream,
        revision,
        type: 'NoteEvent',
        part: null,
        actor: 'operator',
      }) as EventRow;
    const idsOf = async (...revisions: readonly number[]) =>
      (await entriesOf(reads, 7, history(), revisions.map(rowOf))).map(({ id }) => id);
    expect(await idsOf(4, 3, 2, 1, 0)).toEqual(['4']);
    expect(await idsOf(1, 0)).toEqual(['1', '0']);
    expect(await idsOf()).toEqual([]);
  });
});

describe('shared concurrency limits', () => {
  it('bound the concurrent items of all callers together, and every item is processed', async () => {
    const forEach = createSharedForEach({ each: 4, together: 6 });
    let running = 0;
    let most = 0;
    const done: number[] = [];
    const work = async (item: number): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      done.push(item);
    };
    const ofThree = [0, 100, 200].map((from) => Array.from({ length: 40 }, (_, n) => from + n));
    await Promise.all(ofThree.map((items) => forEach(items, work)));
    expect(most).toBe(6);
    expect(done.toSorted((a, b) => a - b)).toEqual(ofThree.flat());
  });

  it('start no work after a failure, and are released', async () => {
    const forEach = createSharedForEach({ each: 2, together: 2 });
    const begun: number[] = [];
    const failing = forEach([1, 2, 3, 4, 5, 6], async (item) => {
      begun.push(item);
      await Promise.resolve();
      throw new ClientGoneError();
    });
    await expect(failing).rejects.toThrow(ClientGoneError);
    expect(begun).toEqual([1, 2]);
    await forEach([7], async (item) => void begun.push(item));
    expect(begun).toEqual([1, 2, 7]);
  });

  it('do not delay a call without items', async () => {
    const forEach = createSharedForEach({ each: 4, together: 2 });
    const others = new EventEmitter();
    const working = forEach(['one', 'another'], async () => void (await once(others, 'done')));
    await forEach([], () => Promise.resolve());
    others.emit('done');
    await working;
  });
});
