import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  WrongExpectedRevisionError,
  type EventStore,
  type ExpectedRevision,
  type NewEvent,
  type Position,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import { makeEventStoreDbOnService } from './make-eventstoredb-store.ts';
import { makePostgresStore } from './make-postgres-store.ts';
import type { MakeStore } from './make-store.ts';
import { newStream, sampleEvent, toArray } from './sample-events.ts';
import { useStore } from './use-store.ts';
import { amount } from '../support/amount.ts';

interface Append {
  readonly stream: string;
  readonly events: readonly NewEvent[];
  readonly expected: ExpectedRevision;
  /** Not waited for: under way at once with the next one, if that is of another stream. */
  readonly together: boolean;
}

/** Relative to what came before, so that every kind of outcome comes up often. */
const aStep = fc.record({
  stream: fc.nat(2),
  count: fc.integer({ min: 1, max: 4 }),
  expected: fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom<ExpectedRevision>('any', 'no-stream') },
    { weight: 4, arbitrary: fc.constant('current' as const) },
    { weight: 2, arbitrary: fc.nat(8) },
  ),
  /** Which earlier append to repeat, counted from the last one; undefined for a new one. */
  repeats: fc.option(fc.nat(3), { nil: undefined, freq: 3 }),
  change: fc.constantFrom(
    ...(['none', 'none', 'none', 'none', 'prefix', 'last id', 'more', 'expected'] as const),
  ),
  together: fc.boolean(),
});
type Step = typeof aStep extends fc.Arbitrary<infer T> ? T : never;

const changed = (append: Append, { change, expected }: Step): Append => {
  const { events } = append;
  const variants = {
    none: append,
    prefix: { ...append, events: events.slice(0, Math.ceil(events.length / 2)) },
    'last id': { ...append, events: [...events.slice(0, -1), sampleEvent()] },
    more: { ...append, events: [...events, sampleEvent()] },
    expected: { ...append, expected: expected === 'current' ? ('any' as const) : expected },
  };
  return variants[change];
};

/** Makes appends of the steps by trying them on a store of its own. */
const concrete = async (steps: readonly Step[]): Promise<Append[]> => {
  const store = createMemoryEventStore();
  const streams = [newStream('property'), newStream('property'), newStream('property')];
  const appends: Append[] = [];
  for (const step of steps) {
    const { repeats, together } = step;
    const earlier = repeats === undefined ? undefined : appends.at(-1 - repeats);
    const stream = streams[step.stream] as string;
    const current = (await toArray(store.readStream(stream))).length - 1;
    const expected = step.expected === 'current' ? (current < 0 ? 'no-stream' : current) : step.expected;
    const events = Array.from({ length: step.count }, () => sampleEvent({ data: { id: randomUUID() } }));
    const append = earlier === undefined ? { stream, events, expected, together } : changed(earlier, step);
    appends.push(append);
    await store.append(append.stream, append.events, append.expected).catch(() => undefined);
  }
  return appends;
};

/** Runs the appends and gives everything a caller could see, but positions: what stands at them instead. */
const run = async (store: EventStore, appends: readonly Append[]) => {
  const base = await store.head();
  const outcomeOf = async ({ stream, events, expected }: Append) => {
    try {
      return await store.append(stream, events, expected);
    } catch (error) {
      if (!(error instanceof WrongExpectedRevisionError)) throw error;
      return { conflict: error.actual };
    }
  };
  const answers: Awaited<ReturnType<typeof outcomeOf>>[] = [];
  let group = new Map<string, ReturnType<typeof outcomeOf>>();
  const finishGroup = async (): Promise<void> => {
    answers.push(...(await Promise.all(group.values())));
    group = new Map();
  };
  for (const append of appends) {
    if (group.has(append.stream)) await finishGroup();
    group.set(append.stream, outcomeOf(append));
    if (!append.together) await finishGroup();
  }
  await finishGroup();
  const written = await wholeLog(store, base);
  const names = new Map(written.map(({ position, stream, revision }) => [position, `${stream}@${revision}`]));
  const streams = [...new Set(appends.map((append) => append.stream))];
  const contents = await Promise.all(streams.map((stream) => toArray(store.readStream(stream))));
  return {
    outcomes: answers.map((answer) =>
      'position' in answer ? { ...answer, position: names.get(answer.position) } : answer,
    ),
    events: contents
      .flat()
      .map((event) => ({ ...event, recordedAt: '', position: names.get(event.position) })),
    /** In the order of the log; appends that were under way together come in any order where it is not dense. */
    log: store.distanceUnit === 'events' ? [...names.values()] : undefined,
  };
};

const wholeLog = async (store: EventStore, base: Position): Promise<readonly RecordedEvent[]> => {
  const written: RecordedEvent[] = [];
  for (;;) {
    const page = await store.readAll({ after: written.at(-1)?.position ?? base, limit: 1_000 });
    if (page.length === 0) return written;
    written.push(...page);
  }
};

/** A new one in each run, or those that are asked for (`OUTCOME_SEEDS=1,2,3`). */
const newSeeds = (): readonly number[] =>
  (process.env['OUTCOME_SEEDS'] ?? String(Date.now() % 1_000_000)).split(',').map(Number);

const others: readonly (readonly [string, MakeStore])[] = [
  ['Postgres', makePostgresStore],
  ['EventStoreDB over gRPC', makeEventStoreDbOnService],
];

/** Those that once told the stores apart: an append to `any` whose events stood in the stream twice. */
const seedsKept = [721_029];

describe.each(others)('memory and %s', (_name, makeStore) => {
  const other = useStore(makeStore);

  it.each([...seedsKept, ...newSeeds()])(
    'give the same outcome for every sequence of appends (seed %d)',
    async (seed) => {
      const kinds = { accepted: 0, repeated: 0, conflict: 0 };
      const property = fc.asyncProperty(
        fc.array(aStep, { minLength: 4, maxLength: 25, size: 'max' }),
        async (steps) => {
          const appends = await concrete(steps);
          const memory = await run(createMemoryEventStore(), appends);
          for (const outcome of memory.outcomes) {
            kinds['conflict' in outcome ? 'conflict' : outcome.repeated ? 'repeated' : 'accepted'] += 1;
          }
          const { log, ...seen } = await run(other(), appends);
          expect(seen).toEqual({ outcomes: memory.outcomes, events: memory.events });
          if (log !== undefined) expect(log).toEqual(memory.log);
        },
      );
      await fc.assert(property, { numRuns: amount(40, 200), seed });
      console.info(`seed ${seed}:`, kinds);
      expect(Math.min(...Object.values(kinds))).toBeGreaterThan(20);
    },
    120_000,
  );
});
