import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { isoTimestamp, systemClock } from '../../shared/async/clock.ts';
import { AppendOutcomeUnknownError, type EventStore } from '../../shared/event-store/event-store.ts';
import {
  makeEventStoreDbOnService,
  type EventStoreDbOnService,
} from '../contract/make-eventstoredb-store.ts';
import { callOf, item, ledgerOn, loggedIn } from '../support/conversion-calls.ts';

let made: EventStoreDbOnService;
beforeEach(async () => {
  made = await makeEventStoreDbOnService();
});
afterEach(() => made.dispose());

const EVENTS = 4_000;

it.each([
  ['was not appended', 'reset', 1],
  ['was appended without an answer', 'reset-after-commit', 2],
] as const)(
  'a large call, appended event by event, whose second event %s is completed by its repeat',
  async (_, fault, left) => {
    const { store, service } = made;
    const nowMs = systemClock.now();
    const at = { eventTime: isoTimestamp(nowMs) };
    const id = (n: number): string => `${n}`.padEnd(250, 'x');
    const events = Array.from({ length: EVENTS }, (_event, n) => item(id(n), at));
    let appends = 0;
    const failing: EventStore = {
      ...store,
      append: async (...call) => {
        appends += 1;
        if (appends === 2) service.faults.inject({ fault, next: null, kinds: ['append'] });
        return store.append(...call);
      },
    };
    const ledger = () => ledgerOn(store, { now: () => nowMs });
    const call = callOf([...events, item('', at), item(id(0), at)], { nowMs });
    const first = ledgerOn(failing, { now: () => nowMs });
    await expect(first.submit(call)).rejects.toBeInstanceOf(AppendOutcomeUnknownError);
    service.faults.clear();
    expect(await loggedIn(store)).toHaveLength(left);

    // Another call logs the last conversion meanwhile, unless it is already logged.
    const other = await ledger().submit(callOf([item(id(EVENTS - 1), at)], { nowMs }));
    const isThere = other.outcome === 'done' && other.result.duplicates === 1;
    const expected = {
      outcome: 'done',
      result: {
        accepted: isThere ? EVENTS : EVENTS - 1,
        duplicates: isThere ? 1 : 2,
        rejected: [{ index: EVENTS, reason: 'eventId must have 1 to 256 characters' }],
      },
    };
    expect(await ledger().submit(call)).toMatchObject(expected);
    expect(await first.submit(call)).toMatchObject(expected);
    const all = (await loggedIn(store)).flatMap(({ eventIds }) => eventIds);
    expect([all.length, new Set(all).size]).toEqual([EVENTS, EVENTS]);
  },
  60_000,
);
