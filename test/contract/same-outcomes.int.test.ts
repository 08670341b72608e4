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
  /** Sent without waiting for it, if the next append is to another stream. */
  readonly together: boolean;
}

/** Relative to earlier appends, so that every kind of outcome is frequent. */
const arbitraryStep = fc.record({
  stream: fc.nat(2),
  count: fc.integer({ min: 1, max: 4 }),
  expected: fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom<ExpectedRevision>('any', 'no-stream') },
    { weight: 4, arbitrary: fc.constant('current' as const) },
    { weight: 2, arbitrary: fc.nat(8) },
  ),
  /** Which earlier append to repeat, counted from the last one; undefined for a new append. */
  repeats: fc.option(fc.nat(3), { nil: undefined, freq: 3 }),
  change: fc.constantFrom(
    ...(['none', 'none', 'none', 'none', 'prefix', 'last id', 'more', 'expected'] as const),
  ),
  together: fc.boolean(),
});
type Step = typeof arbitraryStep extends fc.Arbitrary<infer T> ? T : never;

const changeAppend = (append: Append, { change, expected }: Step): Append => {
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

/** Turns steps into appends by running them on a separate store. */
const appendsOf = async (steps: readonly Step[]): Promise<Append[]> => {
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
    const append =
      earlier === undefined ? { stream, events, expected, together } : changeAppend(earlier, step);
    appends.push(append);
    await store.append(append.stream, append.events, append.expected).catch(() => undefined);
  }
  return appends;
};

/** Runs the appends. @returns everything that a caller sees; positions are replaced by the event stored there */
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
    /** The order of the log. Undefined where it is not dense: concurrent appends come in any order there. */
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

/** A new seed for each run, or those in `OUTCOME_SEEDS=1,2,3`. */
const newSeeds = (): readonly number[] =>
  (process.env['OUTCOME_SEEDS'] ?? String(Date.now() % 1_000_000)).split(',').map(Number);

const others: readonly (readonly [string, MakeStore])[] = [
  ['Postgres', makePostgresStore],
  ['EventStoreDB over gRPC', makeEventStoreDbOnService],
];

/** Seeds that once found a difference: an append with `any` whose events the stream held twice. */
const knownSeeds = [721_029];

describe.each(others)('memory and %s', (_name, makeStore) => {
  const other = useStore(makeStore);

  it.each([...knownSeeds, ...newSeeds()])(
    'give the same outcome for every sequence of appends (seed %d)',
    async (seed) => {
      const kinds = { accepted: 0, repeated: 0, conflict: 0 };
      const property = fc.asyncProperty(
        fc.array(arbitraryStep, { minLength: 4, maxLength: 25, size: 'max' }),
        async (steps) => {
          const appends = await appendsOf(steps);
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
