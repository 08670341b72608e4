import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { LogCall } from '../../command/conversions/log-call.ts';
import type { SourceLedger } from '../../command/conversions/source-ledger.ts';
import {
  AppendOutcomeUnknownError,
  EventStoreUnavailableError,
  type EventStore,
} from '../../shared/event-store/event-store.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import {
  callOf,
  healthChangesIn,
  clock,
  item,
  ledgerOn,
  loggedIn,
  NOW_MS,
} from '../support/conversion-calls.ts';
import { createModel } from '../support/conversion-model.ts';

/**
 * Random calls to the ledgers of one source in two processes. The store loses requests and answers, delays appends
 * beyond their answer and accepts one event at a time. Ledgers are replaced by new ones. Every call is repeated with its
 * command until it is answered, and the answers must equal those of a model. `CONVERSION_RUNS=20000` is the long form.
 */

const RUNS = Number(process.env['CONVERSION_RUNS'] ?? 500);

const someItem = fc.oneof(
  { weight: 12, arbitrary: fc.nat(25).map((n) => item(`e${n}`)) },
  {
    weight: 4,
    arbitrary: fc
      .record({ id: fc.nat(10), type: fc.constantFrom('lead', 'purchase', 'custom') })
      .map(({ id, type }) => item(`e${id}`, { eventType: type, value: id })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      item(''),
      item('x', { value: 'y' }),
      item('x', { eventTime: 'z' }),
      null,
      5,
    ),
  },
);
const invalid = fc.constantFrom<unknown>(item(''), null, 5);
type Fate = 'ok' | 'lost' | 'unanswered' | 'late' | 'ended' | 'cold';
const fate = fc.constantFrom<Fate>('ok', 'ok', 'ok', 'lost', 'unanswered', 'late', 'ended', 'cold');
const plan = fc.record({
  calls: fc.array(
    fc.record({
      items: fc.oneof(
        { weight: 3, arbitrary: fc.array(someItem, { minLength: 1, maxLength: 12 }) },
        { weight: 1, arbitrary: fc.array(invalid, { minLength: 1, maxLength: 3 }) },
      ),
      process: fc.nat(1),
    }),
    { minLength: 1, maxLength: 14 },
  ),
  fates: fc.array(fate, { maxLength: 30 }),
  together: fc.integer({ min: 1, max: 5 }),
  oneByOne: fc.boolean(),
});

/** Each append meets the next fate. A `late` one arrives just before the next append. */
const faulty = (store: EventStore, fates: Fate[], oneByOne: boolean): EventStore => {
  let late: (() => Promise<unknown>)[] = [];
  return {
    ...store,
    ...(oneByOne && { appendBytesMax: 1 }),
    append: async (...call) => {
      const arriving = late;
      late = [];
      for (const one of arriving) await one().catch(() => undefined);
      const next = fates.shift() ?? 'ok';
      if (next === 'lost') throw new EventStoreUnavailableError('lost');
      if (next === 'late') late.push(() => store.append(...call));
      if (next === 'late') throw new AppendOutcomeUnknownError('late');
      const result = await store.append(...call);
      if (next === 'unanswered' || next === 'ended') throw new AppendOutcomeUnknownError(next);
      return result;
    },
  };
};

const untilAnswered = async (ledger: () => SourceLedger, call: LogCall) => {
  for (let tries = 0; tries < 60; tries += 1) {
    const outcome = await ledger()
      .submit(call)
      .catch(() => undefined);
    if (outcome?.outcome === 'done') return outcome.result;
  }
  throw new Error('no answer after 60 tries');
};

it(`given random calls and faults, answers as the model does: ${RUNS} runs`, async () => {
  let [faults, calls, changes] = [0, 0, 0];
  await fc.assert(
    fc.asyncProperty(plan, async ({ calls: planned, fates, together, oneByOne }) => {
      const truth = createMemoryEventStore(clock);
      const left = [...fates];
      const store = faulty(truth, left, oneByOne);
      // Small events, so that even a short call is several appends.
      const open = () => ledgerOn(store, { chunkBytesMax: 4_096 + 200 });
      let ledgers = [open(), open()];
      const submitted: {
        call: LogCall;
        items: readonly unknown[];
        result: Promise<{ accepted: number; duplicates: number; rejected: readonly { index: number }[] }>;
      }[] = [];
      for (let at = 0; at < planned.length; at += together) {
        const group = planned.slice(at, at + together).map(({ items, process }) => {
          const call = callOf(items);
          const ledger = () => {
            if (left[0] === 'cold') {
              left.shift();
              ledgers = [open(), open()];
            }
            return ledgers[process] as SourceLedger;
          };
          return { call, items, result: untilAnswered(ledger, call) };
        });
        submitted.push(...group);
        await Promise.all(group.map(({ result }) => result));
      }
      faults += fates.length - left.length;
      calls += submitted.length;
      const answers = new Map(
        await Promise.all(submitted.map(async ({ call, result }) => [call, await result] as const)),
      );
      const logged = await loggedIn(truth);
      changes += healthChangesIn(logged).length;
      const keys = logged.flatMap(({ eventIds, eventTypes: { of, indexes } }) =>
        eventIds.map((id, n) => `${of[indexes?.[n] ?? 0]} ${id}`),
      );
      const model = createModel(NOW_MS);
      // In any order of concurrent calls, each event is logged once and accepted events are in the log.
      const modelled = submitted.map(({ items }) => model.answer(items));
      expect(new Set(keys)).toEqual(model.known);
      expect(keys).toHaveLength(model.known.size);
      submitted.forEach(({ call }, index) => {
        const answer = answers.get(call);
        const own = logged.filter(({ commandId }) => commandId === call.context.commandId);
        const ownItems = own.reduce((sum, { eventIds }) => sum + eventIds.length, 0);
        expect(answer?.rejected.map((one) => one.index)).toEqual(modelled[index]?.rejected);
        expect(answer?.accepted).toBe(ownItems);
        expect((answer?.accepted ?? 0) + (answer?.duplicates ?? 0) + (answer?.rejected.length ?? 0)).toBe(
          call.events.length,
        );
        // Without concurrency, the model predicts the exact numbers.
        if (together === 1)
          expect(answer).toMatchObject({
            accepted: modelled[index]?.accepted,
            duplicates: modelled[index]?.duplicates,
          });
      });
    }),
    { numRuns: RUNS },
  );
  process.stdout.write(
    `conversion ledger: ${RUNS} runs, ${calls} calls, ${changes} changes of health, ${faults} faults, 0 divergences\n`,
  );
}, 600_000);
