import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Segment, Segments } from '../../command/conversions/segments.ts';
import { createSourceIndex } from '../../command/conversions/source-index.ts';
import { typeAt, type ConversionsLogged } from '../../domain/conversions/events.ts';
import { commandInto, fingerprintsOf } from '../../domain/conversions/fingerprint.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import {
  callOf,
  CUSTOMER,
  items,
  ledgerOn,
  loggedIn,
  NOW_MS,
  SOURCE,
  STREAM,
} from '../support/conversion-calls.ts';

const DAY_MS = 86_400_000;
const into = fingerprintsOf(SOURCE);

/** @param ages of the events, in days, the oldest first */
const streamOf = async (
  ages: readonly number[],
): Promise<{ store: EventStore; commands: readonly string[] }> => {
  let nowMs = NOW_MS;
  const store = createMemoryEventStore({ now: () => nowMs });
  for (const [n, age] of ages.entries()) {
    nowMs = NOW_MS - age * DAY_MS;
    await ledgerOn(store, { now: () => nowMs }).submit(callOf(items(`${n}-a`, `${n}-b`), { nowMs: NOW_MS }));
  }
  return { store, commands: (await loggedIn(store)).map(({ commandId }) => commandId) };
};

/** The rows of the projection with `perRow` events each, without the rows that `isThere` excludes. */
const segmentsOf = async (
  store: EventStore,
  perRow: number,
  isThere: (row: number) => boolean,
): Promise<Segments> => {
  const rows: Segment[] = [];
  for await (const { revision, data, recordedAt, metadata } of store.readStream(STREAM)) {
    const logged = data as unknown as ConversionsLogged;
    const words = new Uint32Array(4 * logged.eventIds.length);
    logged.eventIds.forEach((id, item) => into(typeAt(logged, item), id, words, 4 * item));
    const command = new Uint32Array(4);
    commandInto(metadata.causationId, command, 0);
    const last = rows.at(-1);
    const isSame = last?.recordedAtMs === Date.parse(recordedAt) && revision % perRow !== 0;
    if (isSame) rows.pop();
    rows.push({
      firstRevision: isSame ? last.firstRevision : revision,
      lastRevision: revision,
      recordedAtMs: Date.parse(recordedAt),
      fingerprints: new Uint32Array([...(isSame ? last.fingerprints : []), ...words]),
      commands: new Uint32Array([...(isSame ? last.commands : []), ...command]),
    });
  }
  const present = rows.filter((_, row) => isThere(row)).toReversed();
  return {
    before: async (_customer, _source, revision) =>
      present.filter(({ lastRevision }) => lastRevision < revision).slice(0, 2),
    ofCommand: async () => [],
  };
};

const knownOf = async (store: EventStore, segments: Segments, count: number, commands: readonly string[]) => {
  const index = createSourceIndex({
    store,
    segments,
    now: () => NOW_MS,
    customerId: CUSTOMER,
    sourceId: SOURCE,
  });
  await index.bringUpToDate();
  const words = new Uint32Array(4);
  const isKnown = (id: string): boolean => (into('custom', id, words, 0), index.known.has(words, 0));
  return {
    revision: index.revision,
    health: index.health,
    position: index.position,
    known: Array.from({ length: count }, (_, n) => isKnown(`${n}-a`) && isKnown(`${n}-b`)),
    commands: commands.map((id) => index.hasCommand(id)),
  };
};

describe('an index', () => {
  it('has the same content if any rows of the segments are missing', async () => {
    const ages = fc
      .array(fc.oneof(fc.integer({ min: 0, max: 120 }), fc.integer({ min: 0, max: 600 })), { maxLength: 14 })
      .map((list) => list.toSorted((a, b) => b - a));
    await fc.assert(
      fc.asyncProperty(
        ages,
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.boolean()),
        async (list, perRow, missing) => {
          const { store, commands } = await streamOf(list);
          const segments = await segmentsOf(store, perRow, (row) => missing[row] !== true);
          const { known, commands: found, ...rest } = await knownOf(store, segments, list.length, commands);
          // The limit has whole days: an id of 91 days may or may not be known.
          list.forEach((age, n) => {
            if (age <= 90) expect([n, known[n]]).toEqual([n, true]);
            if (age >= 92) expect([n, known[n]]).toEqual([n, false]);
            if (age <= 3) expect([n, found[n]]).toEqual([n, true]);
          });
          const whole = await knownOf(store, { before: async () => [], ofCommand: async () => [] }, 0, []);
          expect(rest).toEqual({ revision: whole.revision, health: whole.health, position: whole.position });
          expect(rest.revision).toBe(list.length === 0 ? 'no-stream' : list.length - 1);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('reads only the last event of the stream if the segments are complete', async () => {
    const { store, commands } = await streamOf([40, 30, 20, 10, 5, 1, 0]);
    let read = 0;
    const counting: EventStore = {
      ...store,
      readStream: async function* (...range) {
        for await (const event of store.readStream(...range)) {
          read += 1;
          yield event;
        }
      },
    };
    const { known } = await knownOf(counting, await segmentsOf(store, 1, () => true), 7, commands);
    expect([known.every(Boolean), read]).toEqual([true, 1]);
  });

  it.each([
    ['ends earlier', [10]],
    ['continues differently', [10, 4, 3, 2]],
  ])('ignores segments of a log that was replaced by one that %s', async (_how, ages) => {
    const lost = await segmentsOf((await streamOf([10, 5, 1])).store, 1, () => true);
    const { store } = await streamOf([10]);
    for (const n of ages.keys()) if (n > 0) await ledgerOn(store).submit(callOf(items(`other-${n}`)));
    const { known, revision } = await knownOf(store, lost, 3, []);
    expect([known, revision]).toEqual([[true, false, false], ages.length - 1]);
  });

  it('is rebuilt if the stream ends before it', async () => {
    let { store } = await streamOf([10, 5, 1]);
    const changing: EventStore = {
      ...store,
      append: (...appended) => store.append(...appended),
      readStream: (...range) => store.readStream(...range),
    };
    const ledger = ledgerOn(changing);
    await ledger.submit(callOf(items('before')));
    ({ store } = await streamOf([10]));
    const outcome = await ledger.submit(callOf(items('0-a', '1-a', 'before', 'new')));
    expect(outcome).toMatchObject({ outcome: 'done', result: { accepted: 3, duplicates: 1 } });
  });
});
